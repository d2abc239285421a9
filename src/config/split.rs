//! How a budget is split over levels.

/// How the budget is split, as given.
#[derive(Debug, Clone, PartialEq)]
pub enum SplitSpec {
    /// The whole budget on each level.
    Each,
    /// Equal shares.
    Even,
    /// Given shares.
    Shares(Vec<f64>),
}

impl SplitSpec {
    /// The name in results.
    pub fn label(&self) -> String {
        match self {
            Self::Each => "each".into(),
            Self::Even => "even".into(),
            Self::Shares(shares) => {
                shares.iter().map(|share| format!("{share:?}")).collect::<Vec<_>>().join("/")
            }
        }
    }

    /// How a config writes it as the one value of the axis.
    pub fn written(&self) -> String {
        match self {
            Self::Shares(shares) => format!("[{shares:?}]"),
            named => format!("[\"{}\"]", named.label()),
        }
    }

    /// The split of a name in results.
    pub fn named(label: &str) -> Option<Self> {
        match label {
            "each" => Some(Self::Each),
            "even" => Some(Self::Even),
            shares => {
                let shares: Result<Vec<f64>, _> = shares.split('/').map(str::parse).collect();
                shares.ok().map(Self::Shares)
            }
        }
    }
}
