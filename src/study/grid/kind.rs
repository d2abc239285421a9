//! What a study of a grid says of itself.

use crate::config::Section;
use crate::config::wire::WireFile;
use crate::engine::{Drawn, Each, Look, Prepared};
use crate::failure::Result;
use crate::grid::{Cell, Plan};
use crate::store::RunFolder;
use crate::study::kind::{Study, Tables};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;

/// A kind of study of a grid: its config, how a cell is drawn, and where its rows go.
pub(in crate::study) trait Kind: Study + Default + Send + 'static {
    /// Its config file.
    type File: DeserializeOwned + JsonSchema + Into<WireFile<Self::Block>>;
    /// A block of it.
    type Block: Section;

    /// What the study finds out of a grid before anything is drawn. Errors: what cannot be found.
    fn settle(plan: Plan) -> Result<Plan> {
        Ok(plan)
    }
    /// Everything of a cell that does not depend on the replicate.
    fn prepare<'a>(plan: &'a Plan, cell: usize) -> crate::Result<Box<dyn Prepared + 'a>>;
    /// Why the rows of a cell are not to be kept, if they are not: see [`Work::objection`](crate::engine::Work::objection).
    fn objection(_: &Plan, _cell: usize, _rows: Look) -> Result<Option<String>> {
        Ok(None)
    }
    /// Begins the tables. Errors: the disk.
    fn begin<'a>(plan: &'a Plan, folder: &'a RunFolder) -> Result<Box<dyn Tables + 'a>>;
    /// Files that the run copies, by their name in its folder, beside published figures. Errors: the files.
    fn copies(_: &Plan) -> Result<Vec<(&'static str, Vec<u8>)>> {
        Ok(Vec::new())
    }
    /// What one replicate leaves, roughly; its cost is that of the method.
    fn leaves(plan: &Plan, cell: &Cell) -> Each;
    /// Parts of what is computed once a cell: how many, and the rough cost of one in random words.
    fn parts(_: &Plan, _cell: usize) -> (u64, u64) {
        (0, 0)
    }
    /// Rows of a cell twice, the second time with replicates that are counted on from a number; as they are where there
    /// are no replicates. Errors: rows that are none.
    fn twice(rows: Drawn, _from: u64) -> Result<[Drawn; 2]> {
        let rows = rows.encode();
        Ok([rows.clone(), rows].map(Drawn::Encoded))
    }
}
