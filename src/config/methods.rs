//! Checks of the method axis.

use super::check::Checker;
use super::model::{Method, Study};
use super::wire::{Axis, WireMethod, WireMethodTable};
use crate::exact::Source;
use crate::failure::Result;
use crate::lattice::BasisKind;
use std::ops::Range;
use toml::Spanned;

impl Checker<'_> {
    /// Whether every method serves what is released, and the study.
    pub(super) fn methods_fit(
        &self,
        methods: &[Method],
        span: Range<usize>,
        on_table: bool,
        study: Study,
    ) -> Result<()> {
        for method in methods {
            let fits = if on_table { method.on_tables() } else { method.on_hierarchies() };
            let refuse = |message: &str, label: &str| {
                Err(self.error(message.to_owned(), span.clone(), label.to_owned()))
            };
            if !fits {
                let other = if on_table {
                    "nodes of a hierarchy (`data.levels`)"
                } else {
                    "tables under an [[invariant]]"
                };
                return refuse(
                    &format!("method: got `{}`", method.name()),
                    &format!("it serves {other} only"),
                );
            }
            if on_table && method.nonnegative() {
                let label = "on a table it is an [[invariant]] of kind \"nonnegative\", for all methods";
                return refuse("nonnegative: got true", label);
            }
            if study == Study::Privacy && !matches!(method, Method::Exact { .. }) {
                let label = "a study of privacy wants exact: it computes, it draws nothing";
                return refuse(&format!("method: got `{}`", method.name()), label);
            }
            let coupled = matches!(method, Method::LineGibbs { .. } | Method::LatticeMetropolis { .. });
            if study == Study::Meeting && !coupled {
                let label = "a study of meetings wants line-gibbs or lattice-metropolis";
                return refuse(&format!("method: got `{}`", method.name()), label);
            }
        }
        Ok(())
    }

    pub(super) fn methods(&self, wire: &WireMethod, span: Range<usize>, study: Study) -> Result<Vec<Method>> {
        match wire {
            WireMethod::Name(name) => self.method(&WireMethodTable::named(name, span), study),
            WireMethod::Table(table) => self.method(table, study),
        }
    }

    /// One method for each combination of its options.
    pub(super) fn method(&self, table: &WireMethodTable, study: Study) -> Result<Vec<Method>> {
        let kind = table.kind.get_ref().as_str();
        let refuse = |key: &str, span: Range<usize>| {
            self.error(format!("{key}: not an option of `{kind}`"), span, "want it left out")
        };
        let chain = matches!(kind, "line-gibbs" | "hierarchical-mh");
        if let (Some(axis), true) = (&table.sweeps, kind != "line-gibbs") {
            return Err(refuse("sweeps", axis.span()));
        }
        if let (Some(axis), true) =
            (&table.steps, !matches!(kind, "hierarchical-mh" | "lattice-metropolis" | "mis"))
        {
            return Err(refuse("steps", axis.span()));
        }
        for (key, span) in
            [("a", table.a.as_ref().map(Spanned::span)), ("basis", table.basis.as_ref().map(Spanned::span))]
        {
            if let (Some(span), true) = (span, kind != "lattice-metropolis") {
                return Err(refuse(key, span));
            }
        }
        for (key, span, owner) in [
            ("proposal-epsilon", table.proposal_epsilon.as_ref().map(Spanned::span), "mis"),
            ("beta", table.beta.as_ref().map(Spanned::span), "l1"),
            ("from", table.from.as_ref().map(Spanned::span), "rejection"),
        ] {
            if let (Some(span), true) = (span, kind != owner) {
                return Err(refuse(key, span));
            }
        }
        let meeting = study == Study::Meeting;
        for (key, axis) in [("sweeps", &table.sweeps), ("steps", &table.steps)] {
            if let (Some(axis), true) = (axis, meeting) {
                return Err(self.error(
                    format!("{key}: not used"),
                    axis.span(),
                    "coupled chains run until they meet, or to `max-steps`",
                ));
            }
        }
        if let (Some(axis), true) = (&table.proposal_scale, kind != "hierarchical-mh") {
            return Err(refuse("proposal-scale", axis.span()));
        }
        if let (Some(axis), false) = (&table.nonnegative, chain || kind == "exact") {
            return Err(refuse("nonnegative", axis.span()));
        }
        let count = |key: &str, axis: &Option<Spanned<Axis<i64>>>, default: u64| match axis {
            None => Ok(vec![default]),
            Some(axis) => self.axis(key, axis, |&n, span| {
                u64::try_from(n)
                    .ok()
                    .filter(|&n| n > 0)
                    .ok_or_else(|| self.error(format!("{key}: got {n}"), span, "want an integer >= 1"))
            }),
        };
        let signs = match &table.nonnegative {
            None => vec![false],
            Some(axis) => self.axis("nonnegative", axis, |&b, _| Ok(b))?,
        };
        let mut axes = Vec::new();
        let mut option = |key: &'static str, axis: Option<(usize, Range<usize>)>| {
            axes.extend(axis.map(|(length, span)| (key, length, span)));
        };
        option("nonnegative", length(&table.nonnegative));
        option("sweeps", length(&table.sweeps));
        option("steps", length(&table.steps));
        option("proposal-scale", length(&table.proposal_scale));
        option("a", length(&table.a));
        option("basis", length(&table.basis));
        option("proposal-epsilon", length(&table.proposal_epsilon));
        option("beta", length(&table.beta));
        option("from", length(&table.from));
        self.product(0, &axes)?;
        let mut methods = Vec::new();
        for nonnegative in signs {
            match kind {
                "unconstrained" => methods.push(Method::Unconstrained),
                "exact" => methods.push(Method::Exact { nonnegative }),
                "l2" => methods.push(Method::L2),
                "topdown" => methods.push(Method::TopDown),
                "klein" => methods.push(Method::Klein),
                "l2-then-integer-l1" => methods.push(Method::L2Integer),
                "nnl2" => methods.push(Method::Nnl2),
                "nnl2-then-integer-l1" => methods.push(Method::Nnl2Integer),
                "l1" => {
                    let betas = match &table.beta {
                        None => vec![0.5],
                        Some(axis) => self.axis("beta", axis, |&beta, span| {
                            if (0.0..=1.0).contains(&beta) {
                                Ok(beta)
                            } else {
                                Err(self.error(format!("beta: got {beta}"), span, "want a number in [0, 1]"))
                            }
                        })?,
                    };
                    methods.extend(betas.into_iter().map(|beta| Method::L1 { beta }));
                }
                "rejection" => {
                    let sources = match &table.from {
                        None => vec![Source::Equations],
                        Some(axis) => self.axis("from", axis, |name, span| match name.as_str() {
                            "equations" => Ok(Source::Equations),
                            "unconstrained" => Ok(Source::Unconstrained),
                            _ => {
                                let label = "want equations or unconstrained";
                                Err(self.error(format!("from: got `{name}`"), span, label))
                            }
                        })?,
                    };
                    methods.extend(sources.into_iter().map(|from| Method::Rejection { from }));
                }
                "mis" => {
                    let rates = match &table.proposal_epsilon {
                        None => vec![None],
                        Some(axis) => self.axis("proposal-epsilon", axis, |&x, span| {
                            self.positive("proposal-epsilon", x, span).map(Some)
                        })?,
                    };
                    for steps in count("steps", &table.steps, DEFAULT_STEPS)? {
                        methods.extend(
                            rates.iter().map(|&proposal_epsilon| Method::Mis { steps, proposal_epsilon }),
                        );
                    }
                }
                "lattice-metropolis" => {
                    let all_a = match &table.a {
                        None => vec![libm::exp(-1.0)],
                        Some(axis) => self.axis("a", axis, |&a, span| {
                            if a > 0.0 && a <= 0.9999 {
                                Ok(a)
                            } else {
                                Err(self.error(format!("a: got {a}"), span, "want a number in (0, 0.9999]"))
                            }
                        })?,
                    };
                    let bases = match &table.basis {
                        None => vec![BasisKind::Smith],
                        Some(axis) => self.axis("basis", axis, |name, span| match name.as_str() {
                            "smith" => Ok(BasisKind::Smith),
                            "reduced" => Ok(BasisKind::Reduced),
                            _ => {
                                Err(self.error(format!("basis: got `{name}`"), span, "want smith or reduced"))
                            }
                        })?,
                    };
                    let all_steps =
                        if meeting { vec![0] } else { count("steps", &table.steps, DEFAULT_STEPS)? };
                    for steps in all_steps {
                        for &a in &all_a {
                            methods.extend(bases.iter().map(|&basis| Method::LatticeMetropolis {
                                steps,
                                a,
                                basis,
                            }));
                        }
                    }
                }
                "line-gibbs" => {
                    let sweeps =
                        if meeting { vec![0] } else { count("sweeps", &table.sweeps, DEFAULT_SWEEPS)? };
                    methods
                        .extend(sweeps.into_iter().map(|sweeps| Method::LineGibbs { sweeps, nonnegative }));
                }
                "hierarchical-mh" => {
                    let scales = match &table.proposal_scale {
                        None => vec![None],
                        Some(axis) => self.axis("proposal-scale", axis, |&x, span| {
                            self.positive("proposal-scale", x, span).map(Some)
                        })?,
                    };
                    for steps in count("steps", &table.steps, DEFAULT_STEPS)? {
                        methods.extend(scales.iter().map(|&proposal_scale| Method::HierarchicalMh {
                            steps,
                            proposal_scale,
                            nonnegative,
                        }));
                    }
                }
                _ => {
                    return Err(self.error(
                        format!("method: got `{kind}`"),
                        table.kind.span(),
                        format!("want one of {}", Method::NAMES),
                    ));
                }
            }
        }
        Ok(methods)
    }
}

/// Sweeps of a line Gibbs chain if the config does not say: see `experiments/taxi`.
const DEFAULT_SWEEPS: u64 = 100;
/// Steps of a Metropolis-Hastings chain if the config does not say: see `experiments/taxi`.
const DEFAULT_STEPS: u64 = 200_000;

/// Values of an option and their place.
fn length<T>(axis: &Option<Spanned<Axis<T>>>) -> Option<(usize, Range<usize>)> {
    axis.as_ref().map(|axis| (axis.get_ref().0.len(), axis.span()))
}

impl WireMethodTable {
    pub(super) fn named(name: &str, span: Range<usize>) -> Self {
        Self {
            kind: Spanned::new(span, name.to_owned()),
            nonnegative: None,
            sweeps: None,
            steps: None,
            proposal_scale: None,
            a: None,
            basis: None,
            proposal_epsilon: None,
            beta: None,
            from: None,
        }
    }
}
