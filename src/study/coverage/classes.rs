//! Classes of counts that are told together: those of a level, leaves of one size, a district.

use super::config::CoveragePart;
use crate::failure::Result;
use crate::grid::Plan;
use crate::input::Subject;
use crate::store::{Run, RunFolder};
use crate::study::release::{size, size_words};
use crate::table;
use std::collections::BTreeMap;

table! {
    /// Study `coverage`: one row per class of counts that are told together. Known counts are in none.
    pub struct ClassRow in "classes.parquet" {
        /// name of the data set; empty if it has none
        data: String;
        /// its number, from 1, in the data set
        class: u32;
        /// 1 = root; null of a district and of a coefficient
        level: Option<u32>;
        /// the column of the level; of the root `total`, or what `data.root` names it; of a table `entries`; empty of a district
        level_name: String;
        /// of the last level, the sizes of its confidential counts; empty where the class is a whole level, or a district
        size: String;
        /// of a district its name
        district: String;
        /// of a model the coefficient; the class has no counts
        coefficient: String;
        /// counts
        counts: u64, "nodes";
        /// sum of the confidential counts
        total: i64, "counts";
    }
}

/// A class and its members, by number among the nodes, and behind them the districts.
#[derive(Debug)]
pub(super) struct Class {
    pub(super) members: Vec<usize>,
    /// Level from 0, and of a part of it the place of its size.
    of: Option<(usize, Option<usize>)>,
}

/// The classes of a plan: every level, its last by size, every district; of a table all entries, and by size.
pub(super) fn of(plan: &Plan) -> Vec<Class> {
    let (part, counts) = (CoveragePart::of(&plan.config), counts(plan));
    let mut classes = Vec::new();
    for level in 0..plan.subject.levels() {
        let nodes = match &plan.subject {
            Subject::Hierarchy(table) => table.hierarchy.level_nodes(level),
            Subject::Table(_) => 0..counts.len(),
        };
        let members: Vec<usize> = nodes.filter(|&v| !plan.subject.is_known(v)).collect();
        if members.is_empty() {
            continue;
        }
        let mut sizes: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for &v in members.iter().filter(|_| level + 1 == plan.subject.levels()) {
            sizes.entry(size(&part.sizes, counts[v])).or_default().push(v);
        }
        classes.push(Class { members, of: Some((level, None)) });
        if sizes.len() > 1 {
            let of_size = |(size, members)| Class { members, of: Some((level, Some(size))) };
            classes.extend(sizes.into_iter().map(of_size));
        }
    }
    let district = |place: usize| Class { members: vec![counts.len() + place], of: None };
    classes.extend((0..part.districts.len()).map(district));
    classes
}

/// The confidential counts of nodes or entries.
fn counts(plan: &Plan) -> &[i64] {
    match &plan.subject {
        Subject::Hierarchy(table) => &table.counts,
        Subject::Table(table) => &table.counts,
    }
}

/// Writes the classes. Errors: the disk.
pub(super) fn write(plan: &Plan, folder: &RunFolder) -> Result<()> {
    let counts = counts(plan);
    let mut file = folder.table()?;
    let (part, names) = (CoveragePart::of(&plan.config), plan.config.data.level_names());
    if let Some(model) = &part.model {
        let data = &plan.config.data_name;
        let row = |(class, coefficient)| ClassRow {
            data: data.clone(),
            class,
            level: None,
            level_name: String::new(),
            size: String::new(),
            district: String::new(),
            coefficient,
            counts: 0,
            total: 0,
        };
        return (1..).zip(model.names()).map(row).try_for_each(|row| file.push(&row));
    }
    for (place, class) in of(plan).iter().enumerate() {
        let level = class.of.map(|(level, _)| level);
        let size = class.of.and_then(|(_, size)| size);
        let district = |place: usize| Some(&part.districts[place.checked_sub(counts.len())?]);
        let total = |&place: &usize| match district(place) {
            None => counts[place],
            Some(of) => of.weights.iter().map(|&(i, weight)| i64::from(weight) * counts[i as usize]).sum(),
        };
        file.push(&ClassRow {
            data: plan.config.data_name.clone(),
            class: place as u32 + 1,
            level: level.map(|level| level as u32 + 1),
            level_name: level
                .map_or(String::new(), |level| names.get(level).map_or("entries", |name| name).to_owned()),
            size: size.map_or(String::new(), |size| size_words(&part.sizes, size)),
            district: district(class.members[0]).map_or(String::new(), |of| of.name.clone()),
            coefficient: String::new(),
            counts: class.members.len() as u64,
            total: class.members.iter().map(total).sum(),
        })?;
    }
    Ok(())
}

impl ClassRow {
    /// In words.
    pub(super) fn words(&self) -> String {
        match (&self.level, &self.size[..]) {
            _ if !self.coefficient.is_empty() => self.coefficient.clone(),
            (None, _) => self.district.clone(),
            (_, "") => self.level_name.clone(),
            (_, size) => format!("{}, {size}", self.level_name),
        }
    }
}

/// The classes of a run in words, by number. Errors: its tables.
pub(super) fn words(run: &Run) -> Result<Vec<String>> {
    let rows: Vec<ClassRow> = run.all()?;
    Ok(rows.iter().map(ClassRow::words).collect())
}
