//! Every study of a grid is configured and planned in one way.

use super::Kind;
use super::gridded::Gridded;
use super::several::Several;
use crate::config::wire::GridBlock;
use crate::config::{Checker, Section};
use crate::failure::Result;
use crate::grid::Plan;
use crate::study::kind::{Configured, Document, Planned};
use schemars::{Schema, SchemaGenerator};

impl<K: Kind> Configured for K {
    fn name(&self) -> &'static str {
        K::Block::STUDY
    }

    fn keys(&self) -> &'static [&'static str] {
        K::Block::KEYS
    }

    fn schema(&self) -> fn(&mut SchemaGenerator) -> Schema {
        SchemaGenerator::subschema_for::<K::File>
    }

    fn check(&self, checker: &Checker) -> Result<Document> {
        let file = checker.parse::<K::File>()?.into();
        Ok(Document::Grid(checker.configs(file)?))
    }

    fn settle(&self, plan: Plan) -> Result<Plan> {
        <K as Kind>::settle(plan)
    }

    fn plan(&self, mut plans: Vec<Plan>) -> Result<Box<dyn Planned>> {
        match plans.len() {
            1 => Ok(Box::new(Gridded::<K>::new(plans.remove(0)))),
            _ => Ok(Box::new(Several::<K>::new(plans)?)),
        }
    }
}
