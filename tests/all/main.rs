//! The tests of the command and of the library as its users have them: one program, so that what they share is built and linked once.
//!
//! `cargo test --test all pages` runs those of one file. `own` is a program of its own: it is also the methods that it starts.

mod about;
mod answers;
mod built;
mod catalogue;
mod certify;
mod cli;
mod compare;
mod coverage;
mod cube;
mod cube_descent;
mod damage;
mod docs;
mod failed;
mod faults;
mod figures;
mod format;
mod frontier;
mod house;
mod inequalities;
mod infer;
mod infer_areas;
mod infer_tables;
mod init;
mod known;
mod latex;
mod ledger;
mod limits;
mod lines;
mod making;
mod memory;
mod pages;
mod place;
mod published;
mod random_systems;
mod reading;
mod readmes;
mod release;
mod released;
mod scripts;
mod sets;
mod statements;
mod tables;
mod whole;
mod within;
