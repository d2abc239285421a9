//! What all releases of a ledger may pay together.

use super::exact::Exact;
use crate::failure::{Failure, Result};
use congenial_exact_noise::Ratio;
use serde::{Deserialize, Serialize};
use std::fmt;

/// What all releases of a ledger may pay together, for one change of the data.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(try_from = "Wire", into = "Wire")]
pub enum Limit {
    /// Pure losses add up to at most this.
    Pure {
        /// The largest sum of losses.
        epsilon: Exact,
    },
    /// All releases together are (epsilon, delta)-private.
    Approximate {
        /// The largest loss, but for a chance of delta.
        epsilon: Exact,
        /// The chance, from 10^-40 to below 1.
        delta: Exact,
    },
    /// All releases together are rho-zCDP.
    Concentrated {
        /// The largest sum of rho.
        rho: Exact,
    },
}

/// The keys of a limit in a file.
#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Wire {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    epsilon: Option<Exact>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    delta: Option<Exact>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rho: Option<Exact>,
}

/// What a limit is, in messages.
const WANTED: &str = "want `epsilon = 3`, `epsilon = 3, delta = \"1e-9\"` or `rho = \"1/2\"`";

impl Limit {
    /// Reads a limit in TOML: `epsilon = 3`, `epsilon = "7/2"`, `epsilon = 3, delta = "1e-9"` (on two lines, or joined by a comma) or `rho
    /// = "1/2"`. Numbers are whole, or text in quotes as of [`Exact`].
    ///
    /// Refused: a number with a point outside quotes, since it would be rounded; other keys; a limit of 0; a delta below 10^-40 or of 1 and
    /// more. The message does not say where the text stands.
    pub fn parse(text: &str) -> Result<Self> {
        let wrong = |message: String| Failure::Usage(message);
        // A comma joins keys inside braces alone.
        let lines = toml::from_str::<toml::Table>(text);
        let one = || toml::from_str::<toml::Table>(&format!("limit = {{ {text} }}"));
        let table = lines.or_else(|e| match one().map(|mut table| table.remove("limit")) {
            Ok(Some(toml::Value::Table(table))) => Ok(table),
            _ => Err(wrong(format!("got `{text}`: {}; {WANTED}", e.message()))),
        })?;
        Self::of(&table)
    }

    /// The limit in a table of a config: as [`Limit::parse`].
    pub fn of(table: &toml::Table) -> Result<Self> {
        let wrong = |message: String| Failure::Usage(message);
        let mut wire = Wire::default();
        for (key, value) in table {
            let place = match key.as_str() {
                "epsilon" => &mut wire.epsilon,
                "delta" => &mut wire.delta,
                "rho" => &mut wire.rho,
                _ => return Err(wrong(format!("no key `{key}` in a limit; {WANTED}"))),
            };
            let text = match value {
                toml::Value::Integer(number) => number.to_string(),
                toml::Value::String(text) => text.clone(),
                toml::Value::Float(number) => {
                    let message = format!(
                        "{key}: got {number}, want a whole number, or text in quotes such as \"1/3\" or \"{number}\": a number \
                         with a point would be rounded"
                    );
                    return Err(wrong(message));
                }
                other => {
                    let message =
                        format!("{key}: got {}, want a whole number or text in quotes", other.type_str());
                    return Err(wrong(message));
                }
            };
            *place = Some(Exact::parse(&text).map_err(|e| wrong(format!("{key}: {e}")))?);
        }
        Self::try_from(wire).map_err(wrong)
    }

    /// Whether it is of pure losses alone.
    pub fn is_pure(&self) -> bool {
        matches!(self, Self::Pure { .. })
    }
}

impl TryFrom<Wire> for Limit {
    type Error = String;

    fn try_from(wire: Wire) -> std::result::Result<Self, String> {
        let zero = Ratio::new(0, 1).expect("a denominator of 1");
        let above = |key: &str, number: Exact| match number.value() > &zero {
            true => Ok(number),
            false => Err(format!("{key}: got {}, want a number above 0", number.text())),
        };
        match wire {
            Wire { epsilon: Some(epsilon), delta: None, rho: None } => {
                Ok(Self::Pure { epsilon: above("epsilon", epsilon)? })
            }
            Wire { epsilon: Some(epsilon), delta: Some(delta), rho: None } => {
                let least = Exact::parse("1e-40").map_err(|e| e.to_string())?;
                let one = Ratio::new(1, 1).expect("a denominator of 1");
                if delta.value() < least.value() || delta.value() >= &one {
                    return Err(format!("delta: got {}, want a number from 1e-40 to below 1", delta.text()));
                }
                Ok(Self::Approximate { epsilon: above("epsilon", epsilon)?, delta })
            }
            Wire { epsilon: None, delta: None, rho: Some(rho) } => {
                Ok(Self::Concentrated { rho: above("rho", rho)? })
            }
            Wire { rho: Some(_), .. } => Err(format!("rho stands alone; {WANTED}")),
            _ => Err(format!("no epsilon and no rho; {WANTED}")),
        }
    }
}

impl From<Limit> for Wire {
    fn from(limit: Limit) -> Self {
        match limit {
            Limit::Pure { epsilon } => Self { epsilon: Some(epsilon), ..Self::default() },
            Limit::Approximate { epsilon, delta } => {
                Self { epsilon: Some(epsilon), delta: Some(delta), rho: None }
            }
            Limit::Concentrated { rho } => Self { rho: Some(rho), ..Self::default() },
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pure { epsilon } => write!(f, "epsilon = {}", epsilon.text()),
            Self::Approximate { epsilon, delta } => {
                write!(f, "epsilon = {}, delta = {}", epsilon.text(), delta.text())
            }
            Self::Concentrated { rho } => write!(f, "rho = {}", rho.text()),
        }
    }
}
