//! The record of a release for the public registry of deployments (`opendp/deployments-registry-data`), whose keys these are.

use super::certificate::Certificate;
use super::config::Product;

/// What stands behind a key.
enum Node {
    Text(String),
    Number(String),
    List(Vec<String>),
    Map(Vec<(&'static str, Node)>),
}

/// The record as YAML.
pub(super) fn record(certificate: &Certificate, product: &Product) -> String {
    let text = |text: &str| Node::Text(text.to_owned());
    let given = |text: &Option<String>| Node::Text(text.clone().unwrap_or_default());
    let issued = &certificate.issued;
    let about = vec![
        ("name", text(&product.name)),
        ("data_curators", Node::List(vec![product.curator.clone()])),
        ("intended_use", text(&product.intended_use)),
        ("data_product_type", text("Summary statistics")),
        ("data_product_region", given(&product.region)),
        ("description", given(&product.description)),
        ("publication_date", text(issued.time.get(..10).unwrap_or_default())),
    ];
    let is_rho = certificate.pays.measure == "rho";
    let unprotected = match &*certificate.known() {
        "" => "None.".to_owned(),
        known => format!("The counts of {known}, released as they are."),
    };
    let before = match &*issued.known_before.join("; ") {
        "" => String::new(),
        names => format!(" Releases before it gave counts by {names} exactly."),
    };
    let leaves = certificate.levels.last().map_or(0, |level| level.counts);
    let flavor = vec![
        ("name", text(if is_rho { "Zero-concentrated DP" } else { "Pure DP" })),
        ("data_domain", Node::Text(format!("Counts of a public list of {leaves} leaves."))),
        ("unprotected_quantities", Node::Text(unprotected + &before)),
    ];
    let change = match &*certificate.protects {
        "added" => "is added or left out",
        _ => "is moved to other leaves",
    };
    let (unit, records) = (&issued.unit, certificate.records_per_unit);
    let measure = if is_rho { "rho" } else { "epsilon" };
    let loss = vec![
        ("privacy_unit", text(unit)),
        (
            "privacy_unit_description",
            Node::Text(format!("{unit} {change}: at most {records} of its records.")),
        ),
        ("privacy_parameters", Node::Map(vec![(measure, Node::Number(certificate.pays.unit.clone()))])),
    ];
    let model = vec![
        ("model_name", text("Central")),
        ("release_type", text("One release")),
        ("data_source_type", text("Static")),
        ("access_type", text("Non-interactive")),
    ];
    let processing = match &*certificate.table {
        "none" => "None.".to_owned(),
        name => format!("A table that adds up, made of the noisy counts alone by {name}."),
    };
    let booked = format!(
        "A ledger of the data set adds up what releases pay: line {}, hash {}.",
        certificate.ledger.lines, certificate.ledger.head
    );
    let mechanism = format!(
        "{} noise, {}, drawn exactly from the randomness of the operating system by {}.",
        certificate.law, certificate.noise, issued.program
    );
    let deployment = vec![
        ("product", Node::Map(about)),
        ("dp_flavor", Node::Map(flavor)),
        ("privacy_loss", Node::Map(loss)),
        ("model", Node::Map(model)),
        (
            "accounting",
            Node::Map(vec![("post_processing", Node::Text(processing)), ("composition", Node::Text(booked))]),
        ),
        ("implementation", Node::Map(vec![("mechanisms", Node::Text(mechanism))])),
        ("resources", Node::Map(vec![("sources", given(&product.url))])),
    ];
    let mut out = String::new();
    write(&[("status", text("Draft")), ("deployment", Node::Map(deployment))], "", &mut out);
    out
}

/// A text in quotes, as in JSON, which is YAML, too; what YAML does not take as it is stands as its number.
fn quoted(text: &str) -> String {
    let text = serde_json::to_string(text).expect("a text");
    let escaped = |c: char| match c {
        '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}' => {
            format!("\\u{:04x}", u32::from(c))
        }
        c => c.to_string(),
    };
    text.chars().map(escaped).collect()
}

/// Adds keys with what stands behind them.
fn write(nodes: &[(&'static str, Node)], indent: &str, out: &mut String) {
    for (key, node) in nodes {
        match node {
            Node::Text(text) => *out += &format!("{indent}{key}: {}\n", quoted(text)),
            Node::Number(number) => *out += &format!("{indent}{key}: {number}\n"),
            Node::List(texts) => {
                *out += &format!("{indent}{key}:\n");
                texts.iter().for_each(|text| *out += &format!("{indent}  - {}\n", quoted(text)));
            }
            Node::Map(nodes) => {
                *out += &format!("{indent}{key}:\n");
                write(nodes, &format!("{indent}  "), out);
            }
        }
    }
}
