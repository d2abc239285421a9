//! The best splits in words, for programs, and as a config.

use super::{Design, Errors, Query, is_served};
use crate::design::{Goal, LEAST};
use crate::grid::{Plan, resolved};
use crate::page::{Page, Table};
use serde_json::{Value, json};

/// What is small, in words.
fn what(goal: Goal) -> &'static str {
    match goal {
        Goal::Mean => "mean squared error",
        Goal::Largest => "squared error of the worst answer",
    }
}

/// The config with the splits, as a file that runs.
pub fn config(plans: &[Plan], goal: Goal) -> String {
    let plans: Vec<&Plan> = plans.iter().collect();
    let name = plans[0].config.path.display().to_string();
    format!(
        "# {}, with the split of every budget under which least-squares estimates (`l2`) of its queries have the least\n# {}.\n{}",
        crate::page::line(&name),
        what(goal),
        resolved(&plans)
    )
}

/// An error in four digits.
fn digits(x: f64) -> String {
    match x {
        0.0 => "0".into(),
        x if x < 1e-4 => format!("{x:.3e}"),
        x => format!("{x:.*}", (3 - libm::log10(x).floor() as i32).clamp(0, 7) as usize),
    }
}

/// By how much one is less than the other.
fn less(even: f64, own: f64) -> String {
    format!("{:.1} %", 100.0 * (1.0 - own / even).max(0.0))
}

/// What was found of every noise, for people, and what was left.
pub fn page(plans: &[Plan], designs: &[Design], goal: Goal) -> Page {
    let named = designs.iter().any(|design| !design.data.is_empty());
    // A delta and a sensitivity are said where there are several.
    let several = |of: &dyn Fn(&Design) -> f64| {
        let mut values = designs.iter().map(of).filter(|value| *value > 0.0);
        let first = values.next();
        values.any(|value| Some(value) != first)
    };
    let deltas = several(&|design| design.total.1);
    let sensitivities = several(&|design| design.sensitivity);
    let keys = |design: &Design| -> Vec<String> {
        let data = named.then(|| design.data.clone());
        let delta =
            deltas.then(|| if design.total.1 > 0.0 { format!("{:e}", design.total.1) } else { "-".into() });
        let sensitivity = sensitivities.then(|| design.sensitivity.to_string());
        let noise = [design.law.clone(), design.total.0.to_string()];
        data.into_iter().chain(noise).chain(delta).chain(sensitivity).collect()
    };
    let of_keys = || {
        let noise = named.then_some("data").into_iter().chain(["law", "epsilon"]);
        noise.chain(deltas.then_some("delta")).chain(sensitivities.then_some("sensitivity"))
    };
    let mut page = Page::headed(format!("Shares of the budget with the least {}", what(goal)));
    // Data sets may have other levels.
    for own in designs.chunk_by(|a, b| a.data == b.data) {
        let levels = own[0].shares.iter().map(|(level, _)| level.as_str());
        let header: Vec<&str> =
            of_keys().chain(levels).chain(["rmse: even", "best", "less by", "within"]).collect();
        let rows = own.iter().map(|design| {
            let [even, best, at_least] = design.error;
            let shares = design.shares.iter().map(|(_, share)| format!("{share:.4}"));
            // At least what the search leaves open.
            let within = format!("{:.2} %", 100.0 * (1.0 - at_least / best).max(1e-4));
            let errors = [digits(even), digits(best), less(even, best), within];
            keys(design).into_iter().chain(shares).chain(errors).collect::<Vec<String>>()
        });
        let keys = of_keys().count() + own[0].shares.len();
        page = page.table_once(Table::new(keys, header, rows.collect()));
    }
    let header: Vec<&str> = of_keys().chain(["query", "rmse: even", "best"]).collect();
    let rows = designs.iter().flat_map(|design| {
        let asked = design.queries.iter().map(|query| (query.name.clone(), query));
        let others = design.others.iter().map(|query| (format!("{} (not asked for)", query.name), query));
        asked.chain(others).map(|(name, query)| {
            let of = |one: &Errors| match goal {
                Goal::Mean => one.mean,
                Goal::Largest => one.largest,
            };
            let errors = query.errors.each_ref().map(|one| digits(of(one)));
            keys(design).into_iter().chain([name]).chain(errors).collect::<Vec<String>>()
        })
    });
    let by_query = Table::new(of_keys().count() + 1, header, rows.collect());
    page.and(Page::headed("By query").table_once(by_query).text(format!(
        "rmse: the root of the mean squared error of least-squares estimates (`l2`), in counts, by closed form: over the answers, or of \
         the worst. even: the same budget in equal shares. less by: of the rmse. within: no split with shares of {LEAST} and more has an \
         rmse that is lower by more than this. epsilon: of all levels together, which is what a record added pays; what one moved pays \
         depends on the split (`plan`).",
    )))
    .text(left(plans).unwrap_or_default())
}

/// What was not split, in words.
fn left(plans: &[Plan]) -> Option<String> {
    let mut names: Vec<String> = Vec::new();
    for plan in plans {
        for cell in plan.cells.iter().filter(|cell| !is_served(plan, cell)) {
            let name = format!("{}{}", cell.at.method.name(), if cell.nonnegative { " >= 0" } else { "" });
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    let names = names.join(", ");
    (!names.is_empty()).then(|| {
        format!(
            "The split of these methods was left as it is, since they do not weigh levels as least squares do: {names}. With such shares \
             their errors may be many times larger."
        )
    })
}

/// The same for programs.
pub fn described(plans: &[Plan], designs: &[Design], goal: Goal) -> Value {
    let errors = |one: &Errors| json!({ "mean": one.mean, "largest": one.largest });
    let query = |Query { name, errors: [even, best] }: &Query| json!({ "query": name, "even": errors(even), "best": errors(best) });
    let each = designs.iter().map(|design| {
        let mut told = json!({
            "law": design.law,
            "epsilon": design.total.0,
            "delta": design.total.1,
            "sensitivity": design.sensitivity,
            "shares": design.shares.iter().map(|(level, share)| json!({ "level": level, "share": share })).collect::<Vec<_>>(),
            "even": design.error[0],
            "best": design.error[1],
            "at_least": design.error[2],
            "queries": design.queries.iter().map(query).collect::<Vec<_>>(),
            "not_asked": design.others.iter().map(query).collect::<Vec<_>>(),
        });
        if !design.data.is_empty() {
            told["data"] = json!(design.data);
        }
        told
    });
    json!({ "goal": goal.name(), "designs": each.collect::<Vec<_>>(), "config": config(plans, goal) })
}
