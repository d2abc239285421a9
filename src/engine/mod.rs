//! Running a plan: cells are drawn in batches of replicates, by any number of threads, and their rows reach the tables in
//! order.
//!
//! Batches are handed out in the order of the cells. The rows of a cell wait until all of its batches are done, since a cell that fails has
//! none: what is left of its batches would be a sample that its failure has chosen. What waits beyond `WAITING` bytes is read back
//! from the journal when its turn comes. A cell is prepared shortly before its first batch and forgotten after its last: memory is that of
//! the cells in flight.

mod cost;
mod crew;
mod drawn;
mod estimate;
mod progress;

pub use cost::{CellCost, Task, measure, shards, tasks};
pub use crew::Pool;
pub use drawn::{Drawn, Held, decode, encode};
pub use estimate::{Estimate, estimate};

use crate::failure::{Failure, Result};
use crate::pace;
use crate::store::{Batch, BatchKey, Journal, Spot, locked};
pub(crate) use progress::{Kind, Progress};
use std::collections::BTreeMap;
use std::ops::Range;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// What can be drawn: cells.
pub trait Work: Sync {
    /// The cells, in order.
    fn units(&self) -> &[Unit];
    /// A cell in words, for people.
    fn words(&self, cell: usize) -> String;
    /// Everything of a cell that does not depend on the replicate.
    fn prepare(&self, cell: usize) -> crate::Result<Box<dyn Prepared + '_>>;
    /// Why a cell fails although every batch went through; `None` if it does not. Errors: of `rows`.
    fn objection(&self, _cell: usize, _rows: Look) -> Result<Option<String>> {
        Ok(None)
    }
}

/// Goes through the batches of a cell's rows, in order. Errors: rows that are none; of what looks at them.
pub type Look<'a> = &'a dyn Fn(&mut dyn FnMut(&Drawn) -> Result<()>) -> Result<()>;

/// A cell as the engine sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unit {
    /// What the cell is, hashed.
    pub key: u64,
    /// The number of its replicates.
    pub replicates: u64,
    /// Replicates of a batch; the last may have fewer.
    pub batch: u64,
    /// What each replicate takes.
    pub each: Each,
    /// Parts of what is computed once a cell, each kept in the journal: how many, and the rough cost of one in random words.
    pub parts: (u64, u64),
}

/// Parts of what is computed once a cell and costs so many random words: of some seconds each, or some for every core, but at most `most`.
/// Returns how many, and the cost of one.
pub fn parts(work: u64, most: u64) -> (u64, u64) {
    let number = (work / PART).max((work / LEAST).min(PARTS)).clamp(1, most.max(1));
    (number, work / number)
}

/// The share of a part in `n` things, from 0.
pub fn share(n: u64, part: u64, parts: u64) -> Range<u64> {
    let at = |part: u64| (u128::from(n) * u128::from(part) / u128::from(parts.max(1))) as u64;
    at(part)..at(part + 1)
}

/// What a replicate takes, roughly.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Each {
    /// The cost of a replicate in random words.
    pub work: u64,
    /// Rows that the replicate leaves in tables.
    pub rows: u64,
    /// Bytes of these rows on the disk.
    pub disk: u64,
    /// Bytes that the replicate leaves in memory, until its rows are there.
    pub memory: u64,
}

/// Batches of a cell at most: enough to keep every core busy to the end.
const BATCHES: u64 = 64;
/// Batches that a cell has at least where their replicates are made to be drawn together.
const FULL: u64 = 4;
/// Least work of a batch, in random words: about a millisecond.
const LEAST: u64 = 1_000_000;
/// Parts of a cell that are not long, at most; and random words of one that is long: some seconds.
const PARTS: u64 = 16;
const PART: u64 = 1_000_000_000;
/// Bytes of rows of a batch at most, unless one replicate has more.
const MOST_BYTES: u64 = 1 << 18;

impl Unit {
    /// A cell and what each of its replicates takes. Batches decide no row.
    pub fn new(key: u64, replicates: u64, each: Each) -> Self {
        let number = (replicates.saturating_mul(each.work) / LEAST).clamp(1, BATCHES);
        let most = (MOST_BYTES / each.memory.max(1)).max(1);
        let batch = replicates.div_ceil(number).clamp(1, most);
        Self { key, replicates, batch, each, parts: (0, 0) }
    }

    /// Makes batches multiples of `together` replicates, which are best drawn together, where there are enough.
    pub fn together(mut self, together: u64) -> Self {
        let most = (MOST_BYTES / self.each.memory.max(1)).max(1);
        let batch = self.batch.next_multiple_of(together);
        if batch <= most && self.replicates >= FULL * batch {
            self.batch = batch;
        }
        self
    }

    /// The number of its batches of replicates.
    fn drawn(&self) -> u64 {
        self.replicates.div_ceil(self.batch)
    }

    /// The number of its batches and parts, without the closing.
    pub fn batches(&self) -> u64 {
        self.drawn() + self.parts.0
    }

    /// The key of a batch; parts follow the replicates, and behind the last is the closing.
    fn batch_key(&self, batch: u64) -> BatchKey {
        let (drawn, end) = (self.drawn(), self.replicates + self.parts.0);
        if batch < drawn {
            let start = batch * self.batch;
            return (self.key, start, (start + self.batch).min(self.replicates));
        }
        let start = (self.replicates + (batch - drawn)).min(end);
        (self.key, start, (start + 1).min(end))
    }

    /// The cost of a batch in random words.
    fn cost(&self, (_, start, end): BatchKey) -> u64 {
        let each = if start < self.replicates { self.each.work } else { self.parts.1 };
        each.saturating_mul(end - start)
    }

    /// The cost of all its batches in random words.
    fn work(&self) -> u64 {
        let (number, part) = self.parts;
        self.each.work.saturating_mul(self.replicates).saturating_add(part.saturating_mul(number))
    }

    /// The keys of all its batches.
    fn keys(&self) -> impl Iterator<Item = BatchKey> + '_ {
        (0..=self.batches()).map(|batch| self.batch_key(batch))
    }
}

/// A cell ready to draw.
pub trait Prepared: Send + Sync {
    /// Draws replicates: their rows, on an error those before it.
    fn draw(&self, replicates: Range<u64>) -> (Drawn, crate::Result<()>);
    /// A part of what is computed once a cell, from 0, encoded; none, if it says nothing else.
    fn part(&self, _: u64) -> crate::Result<Vec<u8>> {
        Ok(Vec::new())
    }
    /// What else is computed once a cell, encoded.
    fn close(&self) -> crate::Result<Vec<u8>>;
}

/// Where rows go: batches of one cell after the other, each cell's in the order of its replicates. A cell that failed has no rows: it is
/// closed with its error.
pub trait Sink: Send {
    /// The next rows of a cell.
    fn rows(&mut self, cell: usize, rows: Drawn) -> Result<()>;
    /// The next part of what is computed once a cell; those that failed are left out.
    fn part(&mut self, _: usize, _: &[u8]) -> Result<()> {
        Ok(())
    }
    /// The end of a cell: what else was computed once, empty if that failed; and the first error of the cell.
    fn close(&mut self, cell: usize, closing: &[u8], error: Option<&str>) -> Result<()>;
}

/// How a plan is run. No row depends on it.
#[derive(Debug, Clone, Copy)]
pub struct Manner<'a> {
    /// Threads of the pool.
    pub threads: usize,
    /// Whether the first cell that fails ends the run, with what is finished left in the journal.
    pub fail_fast: bool,
    /// Whether no progress is told.
    pub quiet: bool,
    /// Who is told of the progress in place of standard error, and may stop the run.
    pub watch: Option<&'a dyn Watch>,
}

/// Somebody who waits for a run. Threads that draw call this: it returns at once.
pub trait Watch: Sync + std::fmt::Debug {
    /// The share of the work that is done, from 0 to 1. Calls of several threads may overtake each other.
    fn progress(&self, share: f64);
    /// Whether the run is to end before its next batch, as [`Failure::Interrupted`]; what is finished is in the journal.
    fn is_stopped(&self) -> bool;
}

/// One of several processes that share a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    /// The number of this process, from 1.
    pub number: u64,
    /// The number of all processes.
    pub of: u64,
}

impl Shard {
    /// The number of the shard, from 1 to `of`, that a batch belongs to: by a hash of what the batch is, so that large
    /// cells spread over all of them.
    fn owner((key, start, _): BatchKey, of: u64) -> u64 {
        let mixed = (key ^ start.wrapping_mul(0x9e37_79b9_7f4a_7c15)).wrapping_mul(0xd6e8_feb8_6659_fd93);
        (mixed >> 32) % of + 1
    }

    fn owns(&self, key: BatchKey) -> bool {
        Self::owner(key, self.of) == self.number
    }
}

/// Runs every cell; returns how many failed. Rows depend on the work alone: not on the threads, nor on their order, nor on what
/// was in the journal, if there is one. Errors: threads, files; with `fail_fast` the first cell that fails.
pub fn run(
    work: &dyn Work,
    manner: Manner,
    journal: Option<&Journal>,
    sink: &mut (dyn Sink + '_),
) -> Result<usize> {
    let order = Order { next: 0, waiting: BTreeMap::new(), bytes: 0, busy: false };
    let consumer = Consumer { sink, failed: 0 };
    let mut engine =
        Engine::new(work, manner, journal, None, Some((Mutex::new(order), Mutex::new(consumer))));
    engine.run()?;
    Ok(engine
        .ordered
        .map_or(0, |(_, consumer)| consumer.into_inner().unwrap_or_else(PoisonError::into_inner).failed))
}

/// Draws the batches of one shard into the journal; returns how many are its own. Batches that are there already stay.
///
/// Errors: threads, files; with `fail_fast` the first cell that fails. What a cell refuses before it is drawn is left to the
/// merge, which meets it again.
pub fn run_shard(work: &dyn Work, manner: Manner, journal: &Journal, shard: Shard) -> Result<usize> {
    let mut engine = Engine::new(work, manner, Some(journal), Some(shard), None);
    engine.run()?;
    journal.save()?;
    Ok(engine.jobs)
}

/// Batches that no shard has left, of cells that can be drawn at all, up to the first that failed; and how many there are in all.
pub fn missing(work: &dyn Work, journal: &Journal) -> (usize, usize) {
    let cells = work.units().iter().enumerate();
    let missing = cells.map(|(cell, unit)| {
        let failed = |key: &BatchKey| journal.find(*key).is_some_and(|spot| spot.failed);
        let number = unit.keys().take_while(|key| !failed(key)).count();
        let missing = unit.keys().take(number).filter(|key| journal.find(*key).is_none()).count();
        if missing > 0 && attempt(|| work.prepare(cell).map(drop)).is_ok() { missing } else { 0 }
    });
    (missing.sum(), batches(work).count())
}

/// All batches of a plan: cell and key.
fn batches(work: &dyn Work) -> impl Iterator<Item = (usize, BatchKey)> + '_ {
    work.units().iter().enumerate().flat_map(|(cell, unit)| unit.keys().map(move |key| (cell, key)))
}

/// What a cell does, with a panic as its error: the other cells go on.
fn attempt<T>(work: impl FnOnce() -> crate::Result<T>) -> std::result::Result<T, String> {
    match std::panic::catch_unwind(AssertUnwindSafe(work)) {
        Ok(done) => done.map_err(|e| e.to_string()),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("without a message");
            Err(format!("a bug of congenial, please report it: panicked: {text}"))
        }
    }
}

/// Threads for a number of jobs: never more than there are jobs or than the longest replicate has milliseconds, whose
/// threads may share it, nor than eight for each core.
fn pool(threads: usize, jobs: usize, units: &[Unit]) -> Result<rayon::ThreadPool> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let longest = units.iter().map(|unit| unit.each.work).max().unwrap_or(0);
    let useful = jobs.max((longest / LEAST).min(threads as u64) as usize).max(1);
    started(threads.min(useful).min(8 * cores))
}

/// So many threads. Errors: they cannot be started.
fn started(threads: usize) -> Result<rayon::ThreadPool> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    pool.map_err(|e| Failure::Usage(format!("cannot start {threads} threads: {e}")))
}

/// Does some work on so many threads, which its parts share. Errors: they cannot be started.
pub(crate) fn on_threads<T: Send>(threads: usize, work: impl FnOnce() -> T + Send) -> Result<T> {
    Ok(started(threads)?.install(work))
}

type Shared<'a> = Arc<std::result::Result<Box<dyn Prepared + 'a>, String>>;

/// A cell in flight.
struct Slot<'a> {
    prepared: Mutex<Option<Shared<'a>>>,
    /// Batches that are not done, with the closing.
    left: AtomicU64,
    /// The first batch that is known to have failed; no batch or part behind it is drawn.
    failed: AtomicU64,
}

/// What is handed out next.
struct Queue {
    /// The next cell to prepare.
    prepare: usize,
    /// The next batch: its cell, and its number in it.
    cell: usize,
    batch: u64,
}

enum Job {
    Prepare(usize),
    Batch(usize, u64),
}

/// Seconds from which on a batch is kept in any case, and nanoseconds of work of all threads that need not be kept.
const KEPT: f64 = 0.02;
const UNKEPT: u64 = 10_000_000_000;

/// Kinds of work in progress: see [`Engine::kinds`].
const PREPARING: usize = 0;
const DRAWING: usize = 1;
const SUMMING: usize = 2;
const CLOSING: usize = 3;

/// Bytes of rows that may wait in memory.
const WAITING: usize = 32 << 20;

/// Batches of a cell by their number.
type Batches = BTreeMap<u64, Waiting>;

/// Rows that wait for their turn.
struct Order {
    /// The cell whose turn it is, once all of its batches are there.
    next: usize,
    waiting: BTreeMap<usize, Batches>,
    bytes: usize,
    /// Whether a thread is handing them on.
    busy: bool,
}

enum Waiting {
    Here(Drawn, Option<String>),
    Journaled(Spot),
}

/// Hands rows on; only the thread that is busy with it.
struct Consumer<'a> {
    sink: &'a mut (dyn Sink + 'a),
    failed: usize,
}

struct Engine<'a, 's> {
    work: &'a dyn Work,
    manner: Manner<'a>,
    journal: Option<&'a Journal>,
    shard: Option<Shard>,
    slots: Vec<Slot<'a>>,
    queue: Mutex<Queue>,
    ordered: Option<(Mutex<Order>, Mutex<Consumer<'s>>)>,
    progress: Progress<'a>,
    stopped: AtomicBool,
    /// Nanoseconds of work that is in no journal.
    unkept: AtomicU64,
    failure: Mutex<Option<Failure>>,
    /// Batches of this process.
    jobs: usize,
}

impl<'a, 's> Engine<'a, 's> {
    fn new(
        work: &'a dyn Work,
        manner: Manner<'a>,
        journal: Option<&'a Journal>,
        shard: Option<Shard>,
        ordered: Option<(Mutex<Order>, Mutex<Consumer<'s>>)>,
    ) -> Self {
        let units = work.units();
        let slot = |unit: &Unit| Slot {
            prepared: Mutex::default(),
            left: AtomicU64::new(unit.batches() + 1),
            failed: AtomicU64::new(u64::MAX),
        };
        let is_ordered = ordered.is_some();
        let (mut jobs, mut total) = (0, 0u64);
        for unit in units {
            let (batches, work) = match shard {
                None => (unit.batches() as usize + 1, unit.work()),
                Some(shard) => {
                    let own = unit.keys().filter(|key| shard.owns(*key));
                    own.fold((0, 0u64), |(n, sum), key| (n + 1, sum.saturating_add(unit.cost(key))))
                }
            };
            jobs += batches;
            // No batch is without work.
            total = total.saturating_add(work).saturating_add(batches as u64);
        }
        Self {
            work,
            manner,
            journal,
            shard,
            slots: units.iter().map(slot).collect(),
            queue: Mutex::new(Queue { prepare: 0, cell: 0, batch: 0 }),
            ordered,
            progress: Progress::new("", Self::kinds(units, total, is_ordered), &manner),
            stopped: AtomicBool::new(false),
            unkept: AtomicU64::new(0),
            failure: Mutex::default(),
            jobs,
        }
    }

    /// What there is to do: cells are prepared, batches drawn, and where rows are handed on, added to the tables, and each cell is closed.
    fn kinds(units: &[Unit], work: u64, is_ordered: bool) -> Vec<Kind> {
        let kind = |words, total, shared| Kind { words, total, shared };
        let (cells, batches) = (units.len() as u64, units.iter().map(|unit| unit.batches() + 1).sum());
        let alone = |words, total| kind(words, if is_ordered { total } else { 0 }, false);
        vec![
            kind("preparing", cells, true),
            kind("drawing", work, true),
            alone("adding up", batches),
            alone("summing up and comparing", cells),
        ]
    }

    /// A cell for people who wait.
    fn words(&self, cell: usize) -> String {
        let cells = self.work.units().len();
        format!("cell {} of {cells}: {}", cell + 1, self.work.words(cell))
    }

    fn run(&mut self) -> Result<()> {
        let done = self.run_jobs();
        self.progress.finish();
        done
    }

    fn run_jobs(&self) -> Result<()> {
        pool(self.manner.threads, self.jobs, self.work.units())?.broadcast(|_| {
            while !self.stopped.load(Ordering::Relaxed) {
                let interrupted = self.manner.watch.is_some_and(|watch| watch.is_stopped());
                let done = match (!interrupted).then(|| self.next()) {
                    None => Err(Failure::Interrupted("the run was stopped".into())),
                    Some(next) => match next {
                        None => break,
                        Some(Job::Prepare(cell)) => {
                            self.prepared(cell);
                            Ok(())
                        }
                        Some(Job::Batch(cell, batch)) => self.batch(cell, batch),
                    },
                };
                if let Err(failure) = done {
                    self.stopped.store(true, Ordering::Relaxed);
                    locked(&self.failure).get_or_insert(failure);
                }
            }
        });
        locked(&self.failure).take().map_or(Ok(()), Err)
    }

    /// The next job, in the order of the cells; as many cells as there are threads are prepared ahead.
    fn next(&self) -> Option<Job> {
        let mut skipped = 0;
        let job = self.next_of(&mut skipped);
        // Who watches may be slow: told without the queue.
        if skipped > 0 {
            self.progress.skip(PREPARING, skipped);
        }
        job
    }

    fn next_of(&self, skipped: &mut u64) -> Option<Job> {
        let units = self.work.units();
        let mut queue = locked(&self.queue);
        loop {
            if queue.prepare < units.len().min(queue.cell + self.manner.threads) {
                queue.prepare += 1;
                let cell = queue.prepare - 1;
                if units[cell].keys().any(|key| self.is_own(key) && self.find(key).is_none()) {
                    return Some(Job::Prepare(cell));
                }
                *skipped += 1;
                continue;
            }
            let (cell, batch) = (queue.cell, queue.batch);
            let unit = units.get(cell)?;
            (queue.cell, queue.batch) =
                if batch < unit.batches() { (cell, batch + 1) } else { (cell + 1, 0) };
            if self.is_own(unit.batch_key(batch)) {
                return Some(Job::Batch(cell, batch));
            }
            self.done(cell);
        }
    }

    fn is_own(&self, key: BatchKey) -> bool {
        self.shard.is_none_or(|shard| shard.owns(key))
    }

    fn find(&self, key: BatchKey) -> Option<Spot> {
        self.journal.and_then(|journal| journal.find(key))
    }

    /// The cell, prepared by the first who asks.
    fn prepared(&self, cell: usize) -> Shared<'a> {
        let work = self.work;
        let mut slot = locked(&self.slots[cell].prepared);
        let prepare = || {
            let words = || self.words(cell);
            Arc::new(self.progress.doing(PREPARING, 1, words, || attempt(|| work.prepare(cell))))
        };
        slot.get_or_insert_with(prepare).clone()
    }

    /// One batch is done; after the last the cell is forgotten.
    fn done(&self, cell: usize) {
        if self.slots[cell].left.fetch_sub(1, Ordering::AcqRel) == 1 {
            *locked(&self.slots[cell].prepared) = None;
        }
    }

    /// Draws a batch, or closes a cell; keeps and hands on its rows.
    fn batch(&self, cell: usize, number: u64) -> Result<()> {
        let unit = &self.work.units()[cell];
        let key = unit.batch_key(number);
        let (_, start, end) = key;
        let failed = &self.slots[cell].failed;
        let work = unit.cost(key).saturating_add(1);
        let mut is_done = false;
        let waiting = match self.find(key) {
            // Its rows would be left out: those of a cell that failed end with the batch that did. The closing says
            // what does not depend on them.
            _ if number > failed.load(Ordering::Relaxed) && start < end => {
                Waiting::Here(Drawn::Encoded(Vec::new()), None)
            }
            Some(spot) => {
                if spot.failed {
                    failed.fetch_min(number, Ordering::Relaxed);
                }
                if let Some(journal) = self.journal.filter(|_| spot.failed && self.manner.fail_fast) {
                    self.ends(cell, journal.read(spot)?.error.as_ref())?;
                }
                Waiting::Journaled(spot)
            }
            None => match &*self.prepared(cell) {
                Err(error) => {
                    self.ends(cell, Some(error))?;
                    // The closing says it, once.
                    Waiting::Here(Drawn::Encoded(Vec::new()), (start == end).then(|| error.clone()))
                }
                Ok(prepared) => {
                    let clock = Instant::now();
                    let draw = || match start == end {
                        true => prepared.close().map(|closing| (Drawn::Encoded(closing), Ok(()))),
                        false if start < unit.replicates => Ok(prepared.draw(start..end)),
                        false => {
                            let part = prepared.part(start - unit.replicates)?;
                            Ok((Drawn::Encoded(part), Ok(())))
                        }
                    };
                    // What is computed once a cell says nothing of how long draws take.
                    is_done = start < end;
                    let (kind, share) = if is_done { (DRAWING, work) } else { (PREPARING, 0) };
                    let drawn = self.progress.doing(kind, share, || self.words(cell), || attempt(draw));
                    let (rows, error) = match drawn {
                        Ok((rows, drawn)) => (rows, drawn.err().map(|e| e.to_string())),
                        Err(error) => (Drawn::Encoded(Vec::new()), Some(error)),
                    };
                    if error.is_some() {
                        failed.fetch_min(number, Ordering::Relaxed);
                    }
                    let seconds = clock.elapsed().as_secs_f64();
                    let waits = !self.must_not_wait();
                    let keep = |journal: &Journal| {
                        let batch = Batch { rows: rows.encode(), error: error.clone() };
                        journal.append(key, &batch, seconds)
                    };
                    let journal = self.journal.filter(|_| !waits || self.keeps(seconds));
                    let spot = journal.map(keep).transpose()?;
                    self.ends(cell, error.as_ref())?;
                    match spot.filter(|_| !waits) {
                        Some(spot) => Waiting::Journaled(spot),
                        None => Waiting::Here(rows, error),
                    }
                }
            },
        };
        self.done(cell);
        if !is_done {
            self.progress.skip(DRAWING, work);
        }
        self.hand_on((cell, number), waiting)
    }

    /// Whether a batch that took so long is kept: reading what took less would not be faster than drawing it again, but what is
    /// not kept has a bound.
    fn keeps(&self, seconds: f64) -> bool {
        let nanoseconds = (seconds * 1e9) as u64;
        let unkept = &self.unkept;
        self.shard.is_some()
            || seconds >= KEPT
            || unkept.fetch_add(nanoseconds, Ordering::Relaxed) + nanoseconds > UNKEPT
    }

    /// With `fail_fast`, the error that ends the run.
    fn ends(&self, cell: usize, error: Option<&String>) -> Result<()> {
        match error.filter(|_| self.manner.fail_fast) {
            None => Ok(()),
            Some(error) => Err(Failure::CellsFailed {
                failed: 1,
                cells: self.work.units().len(),
                first: format!("{}: {error}", self.work.words(cell)),
            }),
        }
    }

    /// Whether there is no room for more rows.
    fn must_not_wait(&self) -> bool {
        self.ordered.as_ref().is_some_and(|(order, _)| locked(order).bytes > WAITING)
    }

    /// Takes rows in and hands on those of cells whose turn it is, unless another thread is about it.
    fn hand_on(&self, (cell, number): (usize, u64), waiting: Waiting) -> Result<()> {
        let Some((order, consumer)) = &self.ordered else { return Ok(()) };
        let mut ordered = locked(order);
        ordered.bytes += waiting.bytes();
        ordered.waiting.entry(cell).or_default().insert(number, waiting);
        if ordered.busy {
            return Ok(());
        }
        ordered.busy = true;
        let mut consumer = locked(consumer);
        while let Some((cell, batches)) = ordered.whole(self.work.units()) {
            drop(ordered);
            let bytes: usize = batches.values().map(Waiting::bytes).sum();
            self.take(&mut consumer, cell, batches)?;
            ordered = locked(order);
            ordered.bytes -= bytes;
        }
        ordered.busy = false;
        Ok(())
    }

    /// Hands on a whole cell: its rows and parts if nothing failed, and its end in any case. Errors: the journal, and of the sink.
    fn take(&self, consumer: &mut Consumer, cell: usize, batches: Batches) -> Result<()> {
        let unit = &self.work.units()[cell];
        let error = match self.first_error(&batches)? {
            None => self.work.objection(cell, &|look| self.look(unit, &batches, look))?,
            error => error,
        };
        let add_up = || -> Result<Vec<u8>> {
            let (mut closing, of) = (Vec::new(), batches.len());
            for (i, (number, waiting)) in batches.into_iter().enumerate() {
                pace::at(i as f64, of as f64);
                let is_end = number == unit.batches();
                if !is_end && error.is_some() {
                    continue;
                }
                let rows = self.rows(waiting)?;
                if is_end {
                    closing = rows.encode();
                } else if rows.bytes() > 0 {
                    match number < unit.drawn() {
                        true => consumer.sink.rows(cell, rows)?,
                        false => consumer.sink.part(cell, &rows.encode())?,
                    }
                }
            }
            Ok(closing)
        };
        let words = || self.words(cell);
        let closing = self.progress.doing(SUMMING, unit.batches() + 1, words, add_up)?;
        consumer.failed += usize::from(error.is_some());
        self.progress.doing(CLOSING, 1, words, || consumer.sink.close(cell, &closing, error.as_deref()))
    }

    /// The first error of some batches. Errors: the journal.
    fn first_error(&self, batches: &Batches) -> Result<Option<String>> {
        for waiting in batches.values() {
            let error = match waiting {
                Waiting::Here(_, error) => error.clone(),
                Waiting::Journaled(spot) if spot.failed => self.read(*spot)?.error,
                Waiting::Journaled(_) => None,
            };
            if error.is_some() {
                return Ok(error);
            }
        }
        Ok(None)
    }

    /// Shows the rows of a cell. Errors: the journal, and of `look`.
    fn look(&self, unit: &Unit, batches: &Batches, look: &mut dyn FnMut(&Drawn) -> Result<()>) -> Result<()> {
        batches.range(..unit.drawn()).try_for_each(|(_, waiting)| match waiting {
            Waiting::Here(rows, _) => look(rows),
            Waiting::Journaled(spot) => look(&Drawn::Encoded(self.read(*spot)?.rows)),
        })
    }

    fn rows(&self, waiting: Waiting) -> Result<Drawn> {
        match waiting {
            Waiting::Here(rows, _) => Ok(rows),
            Waiting::Journaled(spot) => Ok(Drawn::Encoded(self.read(spot)?.rows)),
        }
    }

    fn read(&self, spot: Spot) -> Result<Batch> {
        match self.journal {
            Some(journal) => journal.read(spot),
            None => unreachable!("without a journal nothing is read from it"),
        }
    }
}

impl Order {
    /// Takes out the cell whose turn it is, if all of its batches are there.
    fn whole(&mut self, units: &[Unit]) -> Option<(usize, Batches)> {
        let cell = self.next;
        let there = self.waiting.get(&cell).map_or(0, BTreeMap::len) as u64;
        let batches = if there > units.get(cell)?.batches() { self.waiting.remove(&cell) } else { None };
        self.next += usize::from(batches.is_some());
        Some((cell, batches?))
    }
}

impl Waiting {
    fn bytes(&self) -> usize {
        match self {
            Self::Here(rows, _) => rows.bytes(),
            Self::Journaled(_) => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Cells of ten replicates in batches of two, each of which leaves its first number. The first cell fails in its
    /// fourth batch, the second by an objection to its last batch, the third not.
    struct Three {
        units: Vec<Unit>,
    }

    struct Drawing(usize);

    impl Prepared for Drawing {
        fn draw(&self, replicates: Range<u64>) -> (Drawn, crate::Result<()>) {
            let failed = self.0 == 0 && replicates.start == 6;
            let failed = if failed { Err(crate::Error::Own("the fourth".into())) } else { Ok(()) };
            (Drawn::Encoded(encode(&replicates.start)), failed)
        }

        fn close(&self) -> crate::Result<Vec<u8>> {
            Ok(vec![self.0 as u8])
        }
    }

    impl Work for Three {
        fn units(&self) -> &[Unit] {
            &self.units
        }

        fn words(&self, cell: usize) -> String {
            cell.to_string()
        }

        fn prepare(&self, cell: usize) -> crate::Result<Box<dyn Prepared + '_>> {
            Ok(Box::new(Drawing(cell)))
        }

        fn objection(&self, cell: usize, rows: Look) -> Result<Option<String>> {
            let mut last = 0;
            rows(&mut |rows| rows.look(|&first: &u64| last = first))?;
            Ok((cell == 1).then(|| format!("the last begins at {last}")))
        }
    }

    #[derive(Default)]
    struct Told {
        rows: Vec<(usize, u64)>,
        ends: Vec<(usize, Vec<u8>, Option<String>)>,
    }

    impl Sink for Told {
        fn rows(&mut self, cell: usize, rows: Drawn) -> Result<()> {
            self.rows.push((cell, rows.take()?));
            Ok(())
        }

        fn close(&mut self, cell: usize, closing: &[u8], error: Option<&str>) -> Result<()> {
            self.ends.push((cell, closing.to_vec(), error.map(str::to_owned)));
            Ok(())
        }
    }

    /// A cell that fails has no rows, wherever and however late it fails; the others have all of theirs, in order.
    #[test]
    fn a_cell_that_fails_has_no_rows() {
        let unit = |key| Unit { key, replicates: 10, batch: 2, each: Each::default(), parts: (0, 0) };
        let work = Three { units: vec![unit(1), unit(2), unit(3)] };
        for threads in [1, 3] {
            let mut told = Told::default();
            let manner = Manner { threads, fail_fast: false, quiet: true, watch: None };
            assert_eq!(run(&work, manner, None, &mut told).unwrap(), 2);
            let rows: Vec<(usize, u64)> = (0..5).map(|batch| (2, 2 * batch)).collect();
            assert_eq!(told.rows, rows);
            let ends = [(0, vec![0], "the fourth".into()), (1, vec![1], "the last begins at 8".into())];
            let ends = ends.map(|(cell, closing, error)| (cell, closing, Some(error)));
            assert_eq!(told.ends[..2], ends);
            assert_eq!(told.ends[2], (2, vec![2], None));
        }
    }

    /// One job has several threads only where its replicate is long enough for them to share it.
    #[test]
    fn long_replicates_have_all_threads() {
        let threads = |work, jobs| {
            let units = [Unit::new(1, 1, Each { work, ..Each::default() })];
            pool(4, jobs, &units).unwrap().current_num_threads()
        };
        assert_eq!([threads(0, 1), threads(LEAST, 1), threads(0, 3)], [1, 1, 3]);
        assert_eq!([threads(2 * LEAST, 1), threads(100 * LEAST, 1), threads(u64::MAX, 9)], [2, 4, 4]);
    }

    /// A cell of 64 batches of one replicate and 4 parts, whose replicates from one on fail; how many were asked for.
    struct Fails {
        units: [Unit; 2],
        from: u64,
        drawn: AtomicU64,
        parts: AtomicU64,
    }

    impl Work for Fails {
        fn units(&self) -> &[Unit] {
            &self.units
        }
        fn words(&self, cell: usize) -> String {
            format!("cell {cell}")
        }
        fn prepare(&self, cell: usize) -> crate::Result<Box<dyn Prepared + '_>> {
            Ok(Box::new((self, cell)))
        }
    }

    impl Prepared for (&Fails, usize) {
        fn draw(&self, replicates: Range<u64>) -> (Drawn, crate::Result<()>) {
            let (fails, cell) = *self;
            fails.drawn.fetch_add(1, Ordering::Relaxed);
            let failed = cell == 0 && replicates.end > fails.from;
            let why = format!("at {}", replicates.start);
            let end = if failed { Err(crate::Error::Invariant(why)) } else { Ok(()) };
            (Drawn::Encoded(vec![replicates.start as u8]), end)
        }
        fn part(&self, part: u64) -> crate::Result<Vec<u8>> {
            self.0.parts.fetch_add(1, Ordering::Relaxed);
            Ok(vec![part as u8])
        }
        fn close(&self) -> crate::Result<Vec<u8>> {
            Ok(vec![7])
        }
    }

    #[derive(Debug, Default, PartialEq)]
    struct Heard(Vec<(usize, Vec<u8>)>, Vec<(usize, Option<String>)>);

    impl Sink for Heard {
        fn rows(&mut self, cell: usize, rows: Drawn) -> Result<()> {
            self.0.push((cell, rows.encode()));
            Ok(())
        }
        fn part(&mut self, cell: usize, part: &[u8]) -> Result<()> {
            self.0.push((cell, part.to_vec()));
            Ok(())
        }
        fn close(&mut self, cell: usize, closing: &[u8], error: Option<&str>) -> Result<()> {
            assert_eq!(closing, [7]);
            self.1.push((cell, error.map(str::to_owned)));
            Ok(())
        }
    }

    /// A cell that failed leaves nothing, for any number of threads, and no more of it is drawn than was begun by then.
    #[test]
    fn cells_that_failed_are_drawn_no_further() {
        for (threads, from) in [(1, 0), (1, 5), (4, 5), (4, 63), (3, 64)] {
            let unit = |key| {
                let mut unit = Unit::new(key, 64, Each { work: LEAST, ..Each::default() });
                unit.parts = (4, 1);
                unit
            };
            let fails =
                Fails { units: [unit(1), unit(2)], from, drawn: AtomicU64::new(0), parts: AtomicU64::new(0) };
            let manner = Manner { threads, fail_fast: false, quiet: true, watch: None };
            let mut heard = Heard::default();
            let failed = run(&fails, manner, None, &mut heard).unwrap();
            assert_eq!(failed, usize::from(from < 64));
            let first = (0..64).filter(|_| from == 64).map(|at| (0, vec![at as u8]));
            let parts = |cell| (0..4).map(move |part| (cell, vec![part as u8]));
            let second = (0..64).map(|at| (1, vec![at as u8])).chain(parts(1));
            let parts = parts(0).filter(|_| from == 64);
            assert_eq!(heard.0, first.chain(parts).chain(second).collect::<Vec<_>>(), "{threads} {from}");
            assert_eq!(heard.1[1], (1, None));
            let said = &heard.1[0].1;
            assert_eq!(said.is_some(), from < 64);
            assert!(said.iter().all(|said| said.contains(&format!("at {from}"))), "{said:?}");
            // Threads may have begun one each before the first failed.
            let drawn = fails.drawn.load(Ordering::Relaxed);
            let least = 64 + (from + 1).min(64);
            assert!((least..least + threads as u64).contains(&drawn), "{threads} {from}: {drawn}");
            assert!(fails.parts.load(Ordering::Relaxed) <= 4 + 4 * u64::from(from >= 60));
        }
    }
    /// The share that is told grows, counts what is prepared and summed up as well, and is whole with the last cell alone.
    #[derive(Debug, Default)]
    struct Shares(Mutex<Vec<f64>>);

    impl Watch for Shares {
        fn progress(&self, share: f64) {
            locked(&self.0).push(share);
        }
        fn is_stopped(&self) -> bool {
            false
        }
    }

    struct Closes<'a>(&'a Shares, Vec<f64>);

    impl Sink for Closes<'_> {
        fn rows(&mut self, _: usize, _: Drawn) -> Result<()> {
            Ok(())
        }
        fn close(&mut self, _: usize, _: &[u8], _: Option<&str>) -> Result<()> {
            std::thread::sleep(std::time::Duration::from_millis(5));
            self.1.push(locked(&self.0.0).iter().copied().fold(0.0, f64::max));
            Ok(())
        }
    }

    #[test]
    fn all_work_is_progress() {
        let unit = |key| Unit { key, replicates: 10, batch: 2, each: Each::default(), parts: (0, 0) };
        let work = Three { units: vec![unit(1), unit(2), unit(3)] };
        let shares = Shares::default();
        let mut closes = Closes(&shares, Vec::new());
        let manner = Manner { threads: 1, fail_fast: false, quiet: false, watch: Some(&shares) };
        run(&work, manner, None, &mut closes).unwrap();
        // Before a cell is closed it is not done, though all of its batches are drawn.
        assert!(closes.1.len() == 3 && closes.1.iter().all(|&share| share < 1.0), "{:?}", closes.1);
        let all = shares.0.into_inner().unwrap();
        // Cells prepared, batches drawn, cells added up and closed.
        assert_eq!(all.len(), 3 + 3 * 6 + 3 + 3, "{all:?}");
        assert!(all.is_sorted(), "{all:?}");
        assert_eq!((all.last(), all.iter().filter(|&&share| share == 1.0).count()), (Some(&1.0), 1));
    }
}
