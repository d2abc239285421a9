//! What the machine has left.

use crate::files::of_the_kernel;
use std::path::Path;

/// Free bytes of the disk on which a path lies, or would lie; `None` if that is not known.
pub(crate) fn free_disk(path: &Path) -> Option<u64> {
    let path = std::path::absolute(path).ok()?;
    let place = path.ancestors().find(|place| place.exists())?;
    let disk = rustix::fs::statvfs(place).ok()?;
    disk.f_bavail.checked_mul(disk.f_frsize)
}

/// Bytes of memory that this process may still take: of the machine, of its control group, and of its address space; `None` if that is not
/// known.
pub fn free_memory() -> Option<u64> {
    let number = |path: &str| of_the_kernel(path)?.trim().parse::<u64>().ok();
    let machine = field("/proc/meminfo", "MemAvailable:");
    let group = number("/sys/fs/cgroup/memory.max")
        .map(|most| most.saturating_sub(number("/sys/fs/cgroup/memory.current").unwrap_or(0)));
    let limit = rustix::process::getrlimit(rustix::process::Resource::As).current;
    let space = limit.map(|most| most.saturating_sub(field("/proc/self/status", "VmSize:").unwrap_or(0)));
    [machine, group, space].into_iter().flatten().min()
}

/// The most bytes of memory that this process has held at once; `None` if that is not known.
pub(crate) fn peak_memory() -> Option<u64> {
    field("/proc/self/status", "VmHWM:")
}

/// A size in a file of the kernel's, in bytes.
fn field(path: &str, name: &str) -> Option<u64> {
    let text = of_the_kernel(path)?;
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok().map(|kb| 1024 * kb)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn something_is_left() {
        for place in [".", "none/of/these", "/"] {
            assert!(free_disk(Path::new(place)).is_some_and(|free| free > 1 << 20), "{place}");
        }
        assert!(free_memory().is_some_and(|free| free > 1 << 20));
        assert!(peak_memory().is_some_and(|most| most > 1 << 20));
    }
}
