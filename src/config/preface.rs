//! What a study says of itself in its author's words: `[about]`. No figure depends on it.

/// `[about]`
#[derive(Debug, Default, Clone, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Preface {
    /// Heading of the report, in place of the name of the run.
    pub title: String,
    /// What the study asks, below the heading; an empty line begins a new paragraph.
    pub description: String,
    /// Who answers for it.
    pub author: String,
    /// What else a reader is to know, at the end of the report, a paragraph each.
    pub notes: Vec<String>,
}

impl Preface {
    /// The paragraphs of the description, each on one line.
    pub fn paragraphs(&self) -> Vec<String> {
        let lines: Vec<&str> = self.description.lines().map(str::trim).collect();
        let paragraphs = lines.split(|line| line.is_empty()).map(|lines| lines.join(" "));
        paragraphs.filter(|paragraph| !paragraph.is_empty()).collect()
    }

    /// Whether nothing is said.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The table of a config; none where nothing is said.
    pub(crate) fn resolve(&self) -> Option<toml_edit::Item> {
        if self.is_empty() {
            return None;
        }
        let mut table = toml_edit::Table::new();
        let texts = [("title", &self.title), ("description", &self.description), ("author", &self.author)];
        for (key, text) in texts.into_iter().filter(|(_, text)| !text.is_empty()) {
            table[key] = toml_edit::value(text);
        }
        if !self.notes.is_empty() {
            table["notes"] = toml_edit::value(self.notes.iter().collect::<toml_edit::Array>());
        }
        Some(toml_edit::Item::Table(table))
    }
}
