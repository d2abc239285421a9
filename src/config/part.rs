//! What one study adds: to a config, and to a block of its grid and so to its cells. Everything else knows these traits alone; the
//! study that made a part finds it again by its type.

use super::axes::Point;
use super::model::Queries;
use crate::catalogue::{LawKind, Method, Place};
use crate::failure::Result;
use crate::input::{Asked, DataSource, Keep, Subject};
use std::any::Any;
use std::fmt::Debug;
use std::path::PathBuf;
use std::sync::Arc;
use toml_edit::DocumentMut;

/// The part of a config that belongs to its study: the keys that it has at the top of the file.
pub trait ConfigPart: Any + Debug + Send + Sync {
    /// Queries whose errors are summed up.
    fn queries(&self) -> &Queries {
        static NONE: Queries = Queries::none();
        &NONE
    }
    /// Which draws are written out.
    fn keep(&self) -> &Keep {
        &Keep::Nothing
    }
    /// The lines that the key of a plan has for it. Errors: files that it names.
    fn key(&self, _: &Subject, _asked: Option<&Asked>) -> Result<String> {
        Ok(String::new())
    }
    /// Writes its keys into a resolved config, which has `[data]` and, where figures are named, `[report]`.
    fn resolve(&self, _: &mut DocumentMut, _: &DataSource) {}
    /// The files that it names.
    fn inputs(&self) -> Vec<PathBuf> {
        Vec::new()
    }
}

/// The part of a block, and of each of its cells, that belongs to its study.
pub trait CellPart: Any + Debug + Send + Sync {
    /// Errors: why a method cannot be used with a law as the part asks. `lagged`: whether coupled pairs are drawn.
    fn serves(&self, _: Method, _: LawKind, _: Place, _lagged: bool) -> std::result::Result<(), String> {
        Ok(())
    }
    /// What the key of a plan says of it, with a space before each word.
    fn key(&self, _: &Point) -> String {
        String::new()
    }
    /// Its lines in the block of a resolved config, each with its end.
    fn lines(&self, _: &Point) -> String {
        String::new()
    }
    /// Steps after which a coupled pair is cut short, where there are pairs.
    fn max_steps(&self) -> Option<u64> {
        None
    }
    /// The part of a cell that stands for two that differ in their master seed alone; `other`: the part of the second. None: as it is.
    fn with(&self, _other: &dyn CellPart) -> Option<Arc<dyn CellPart>> {
        None
    }
}

/// A study that adds nothing.
impl ConfigPart for () {}
impl CellPart for () {}

impl dyn ConfigPart {
    /// The part as its study knows it; `None` of another study's.
    pub fn as_own<T: ConfigPart>(&self) -> Option<&T> {
        (self as &dyn Any).downcast_ref()
    }
}

impl dyn CellPart {
    /// The part as its study knows it; `None` of another study's.
    pub fn as_own<T: CellPart>(&self) -> Option<&T> {
        (self as &dyn Any).downcast_ref()
    }
}
