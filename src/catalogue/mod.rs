//! What a config can ask for: the noise laws and the methods of the core ([`crate::methods`]), and the two in words. The parser, the JSON
//! schema, the resolved config, `congenial methods`, the tables of the reference, fuzzing, `verify` and the test that tries all
//! methods with all laws read their facts.

mod noise;
mod words;

pub use congenial_core::methods::{
    Facts, Family, Given, How, IntegerNoise, Kind, LawKind, Method, MethodKind, NONNEGATIVE_KEY, OnLaw,
    OptionFacts, Place, Projection, RealNoise, TreeNoise, Value, unsupported,
};
pub use noise::noise;
pub use words::{laws_on, methods_on, served, what};
