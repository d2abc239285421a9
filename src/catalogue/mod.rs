//! What a config can ask for: one row of facts for each noise law ([`laws`]) and each method ([`methods`]). The parser, the JSON
//! schema, the resolved config, `congenial methods`, the tables of the reference, fuzzing, `verify` and the test that tries all
//! methods with all laws read these rows.

pub mod laws;
pub mod methods;
mod options;
mod unsupported;
mod words;

pub use laws::{IntegerNoise, LawKind, OnLaw, RealNoise, TreeNoise};
pub use methods::{Facts, How, Method, MethodKind, NONNEGATIVE_KEY, Place};
pub use options::{Given, Kind, OptionFacts, OptionValue, Value};
pub(crate) use unsupported::unsupported;
pub use words::{laws_on, methods_on, served};
