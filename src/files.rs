//! Files: written whole or not at all, read only where they are files. Nothing else opens a path that somebody gave.

use crate::failure::{Failure, Result};
use std::fs::{self, File};
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

/// Bytes of a config, a manifest or another text that is read in one piece, at most.
const TEXT: u64 = 64 << 20;

/// Whether a name is taken: also by a link that leads nowhere.
pub(crate) fn is_taken(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok()
}

/// Opens a file to read. Refused: what is no regular file, such as a pipe without a writer, which would be waited for, or a device without
/// an end.
pub(crate) fn open(path: &Path) -> Result<File> {
    open_named(path, "cannot read")
}

fn open_named(path: &Path, tried: &str) -> Result<File> {
    let failed = |e| Failure::io(path, tried, e);
    let kind = fs::metadata(path).map_err(failed)?.file_type();
    if !kind.is_file() {
        let what = if kind.is_dir() { "a folder" } else { "a pipe or a device" };
        return Err(Failure::io(path, tried, format!("it is {what}, want a regular file")));
    }
    #[allow(clippy::disallowed_methods, reason = "this is where the others end")]
    File::open(path).map_err(failed)
}

/// The mode of a file that others than its owner may write; elsewhere than on Unix nobody knows.
pub(crate) fn writable_mode(about: &fs::Metadata) -> Option<u32> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        Some(about.permissions().mode() & 0o777).filter(|mode| mode & 0o022 != 0)
    }
    #[cfg(not(unix))]
    {
        let _ = about;
        None
    }
}

/// Whether this process may read a file, without opening it. Errors: it may not.
pub(crate) fn readable(path: &Path) -> std::io::Result<()> {
    #[cfg(unix)]
    {
        Ok(rustix::fs::access(path, rustix::fs::Access::READ_OK)?)
    }
    #[cfg(not(unix))]
    {
        let _ = path;
        Ok(())
    }
}

/// Whether two paths have led to one file; elsewhere than on Unix nobody knows.
pub(crate) fn is_same(one: &fs::Metadata, other: &fs::Metadata) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        (one.dev(), one.ino()) == (other.dev(), other.ino())
    }
    #[cfg(not(unix))]
    {
        let _ = (one, other);
        false
    }
}

/// Refuses to write a file that is one of those that are read.
pub(crate) fn check_apart<'a>(place: &Path, mut read: impl Iterator<Item = &'a Path>) -> Result<()> {
    let Ok(about) = fs::metadata(place) else { return Ok(()) };
    match read.any(|path| fs::metadata(path).is_ok_and(|own| is_same(&own, &about))) {
        true => Err(Failure::io(place, "not written", "it is read by this command; want another place")),
        false => Ok(()),
    }
}

/// Opens a file to read it and to add to its end. Refused: as [`open`].
pub(crate) fn open_to_append(path: &Path) -> Result<File> {
    drop(open_named(path, "cannot open")?);
    File::options().read(true).append(true).open(path).map_err(|e| Failure::io(path, "cannot open", e))
}

/// Lists what is in a folder. Errors: files.
pub(crate) fn listed(folder: &Path) -> Result<Vec<fs::DirEntry>> {
    let entries = fs::read_dir(folder).and_then(Iterator::collect);
    entries.map_err(|e| Failure::io(folder, "cannot read", e))
}

/// The bytes of a file that is read in one piece. `tried`: what an error says that could not be done. Refused: as
/// [`open`]; more than 64 MiB.
pub(crate) fn bytes(path: &Path, tried: &str) -> Result<Vec<u8>> {
    let failed = |e: std::io::Error| Failure::io(path, tried, e);
    let mut bytes = Vec::new();
    open_named(path, tried)?.take(TEXT + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > TEXT {
        return Err(Failure::io(path, tried, format!("it has more than {} MiB", TEXT >> 20)));
    }
    Ok(bytes)
}

/// The text of a file. Refused: as [`bytes`]; what is not UTF-8.
pub(crate) fn text(path: &Path, tried: &str) -> Result<String> {
    String::from_utf8(bytes(path, tried)?).map_err(|_| Failure::io(path, tried, "it is not UTF-8"))
}

/// The text of a file by which the kernel tells of this machine and this process; `None` if it has none.
#[allow(clippy::disallowed_methods, reason = "the kernel writes them, and no user names them")]
pub(crate) fn of_the_kernel(path: &str) -> Option<String> {
    fs::read_to_string(path).ok()
}

/// Waits until a file is on the disk. Errors: the system.
#[allow(clippy::disallowed_methods, reason = "what is synced is not read")]
pub(crate) fn sync(path: &Path) -> std::io::Result<()> {
    File::open(path)?.sync_all()
}

/// Writes a file beside its place, syncs it, and gives it its name: afterwards it is whole or not there, even if the
/// power goes. A file that is there is replaced.
pub(crate) fn replace(folder: &Path, name: &str, content: &[u8]) -> Result<()> {
    let failed = |e| Failure::write(&folder.join(name), e);
    replace_with(folder, name, |out| out.write_all(content).map_err(failed))
}

/// Writes a file as [`replace`] does, piece by piece.
pub(crate) fn replace_with(
    folder: &Path,
    name: &str,
    write: impl FnOnce(&mut dyn Write) -> Result<()>,
) -> Result<()> {
    replace_file(folder, name, |mut file| write(&mut file))
}

/// Writes a file as [`replace`] does, for those who want a file.
pub(crate) fn replace_file(folder: &Path, name: &str, write: impl FnOnce(File) -> Result<()>) -> Result<()> {
    let place = folder.join(name);
    let failed = |e| Failure::write(&place, e);
    let mut file = Beside::new(&place)?;
    write(file.file.try_clone().map_err(failed)?)?;
    let synced = file.file.sync_all().and_then(|()| file.name(&place));
    synced.and_then(|()| sync_folder(folder)).map_err(failed)
}

/// Writes a file by the path that somebody gave, as [`replace_with`] does: of a link the file to which it leads is
/// replaced, and what is no file, a device or a pipe, is written to. Errors: also a path without a name.
pub(crate) fn replace_at(path: &Path, write: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<()> {
    let is_link = fs::symlink_metadata(path).is_ok_and(|about| about.is_symlink());
    let target = fs::canonicalize(path).ok().filter(|_| is_link).unwrap_or_else(|| path.to_owned());
    if fs::metadata(&target).is_ok_and(|about| !about.is_file() && !about.is_dir()) {
        let file = File::options().write(true).open(&target).map_err(|e| Failure::write(path, e));
        return write(&mut file?);
    }
    let name = target.file_name().and_then(|name| name.to_str());
    let name = name.ok_or_else(|| Failure::io(path, "cannot create", "want the name of a file"))?;
    replace_with(target.parent().unwrap_or(Path::new("")), name, write)
}

/// Writes rows as CSV, the first of which is the header; `path`: the name of the file in messages.
pub(crate) fn write_csv<R: IntoIterator<Item: AsRef<[u8]>>>(
    file: File,
    path: &Path,
    rows: impl Iterator<Item = R>,
) -> Result<()> {
    let mut writer = csv::Writer::from_writer(file);
    for row in rows {
        writer.write_record(row).map_err(|e| Failure::write(path, e))?;
    }
    writer.flush().map_err(|e| Failure::write(path, e))
}

/// Waits until the names in a folder are on the disk.
pub(crate) fn sync_folder(folder: &Path) -> std::io::Result<()> {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    match sync(folder) {
        // Some file systems sync no folders.
        Err(e) if !matches!(e.kind(), ErrorKind::InvalidInput | ErrorKind::Unsupported) => Err(e),
        _ => Ok(()),
    }
}

/// Creates a file of our own, its name from the number of an attempt. Processes on several machines may write the same
/// file at the same time, some with the same number: none meets another's, nor one that was left behind.
pub(crate) fn create(folder: &Path, name: impl Fn(u32) -> String) -> std::io::Result<(PathBuf, File)> {
    for attempt in 0u32.. {
        let path = folder.join(name(attempt));
        match File::create_new(&path) {
            Err(e) if e.kind() == ErrorKind::AlreadyExists => continue,
            opened => return opened.map(|file| (path, file)),
        }
    }
    Err(ErrorKind::AlreadyExists.into())
}

/// How a file ends whose writer has not come to its end.
pub(crate) const TEMPORARY: &str = ".tmp";

/// A file that stands beside its place until it is whole; dropped before, it is removed.
struct Beside {
    temporary: PathBuf,
    file: File,
}

impl Beside {
    fn new(place: &Path) -> Result<Self> {
        let name = place.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let folder = place.parent().unwrap_or(Path::new(""));
        let own = |attempt| format!("{name}.{}.{attempt}{TEMPORARY}", std::process::id());
        let (temporary, file) = create(folder, own).map_err(|e| Failure::create(place, e))?;
        Ok(Self { temporary, file })
    }

    /// Gives the file its name.
    fn name(&mut self, place: &Path) -> std::io::Result<()> {
        fs::rename(&self.temporary, place)?;
        self.temporary.clear();
        Ok(())
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        if !self.temporary.as_os_str().is_empty() {
            // Of no use, and in the way on a full disk.
            let _ = fs::remove_file(&self.temporary);
        }
    }
}

/// A new file that gets its name when it is whole.
pub(crate) struct NewFile {
    place: PathBuf,
    beside: Beside,
}

impl NewFile {
    /// Refused: a name that is taken.
    pub(crate) fn create(place: &Path) -> Result<Self> {
        if is_taken(place) {
            return Err(Failure::io(place, "cannot create", "it exists; remove it, or give another name"));
        }
        Ok(Self { place: place.to_owned(), beside: Beside::new(place)? })
    }

    /// A handle to write to. Errors: the system.
    pub(crate) fn file(&self) -> Result<File> {
        self.beside.file.try_clone().map_err(|e| Failure::write(&self.place, e))
    }

    /// Gives the file its name, after its content is on the disk. Refused: a name that was taken meanwhile.
    pub(crate) fn finish(mut self) -> Result<()> {
        let failed = |e: std::io::Error| Failure::write(&self.place, e);
        self.beside.file.sync_all().map_err(failed)?;
        match fs::hard_link(&self.beside.temporary, &self.place) {
            Ok(()) => {}
            Err(e) if e.kind() == ErrorKind::AlreadyExists => return Err(failed(e)),
            // A file system without links.
            Err(_) => self.beside.name(&self.place).map_err(failed)?,
        }
        sync_folder(self.place.parent().unwrap_or(Path::new(""))).map_err(failed)
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "tests open files of their own")]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let names =
            fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().to_string_lossy().into_owned());
        names.collect()
    }

    /// Files are whole under their names, or not there, and nothing is left beside them.
    #[test]
    fn files_are_whole_or_not_there() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("a");
        let new = NewFile::create(&path).unwrap();
        new.file().unwrap().write_all(b"half").unwrap();
        assert!(!path.exists());
        drop(new);
        assert!(names(place.path()).is_empty());
        let new = NewFile::create(&path).unwrap();
        let second = NewFile::create(&path).unwrap();
        new.file().unwrap().write_all(b"whole").unwrap();
        new.finish().unwrap();
        assert!(second.finish().is_err() && NewFile::create(&path).is_err());
        assert_eq!(
            (fs::read(&path).unwrap(), names(place.path())),
            (b"whole".to_vec(), vec!["a".to_owned()])
        );
        replace(place.path(), "a", b"other").unwrap();
        assert_eq!(
            (fs::read(&path).unwrap(), names(place.path())),
            (b"other".to_vec(), vec!["a".to_owned()])
        );
        assert!(replace(&path, "b", b"").is_err());
    }

    #[test]
    fn only_files_are_read() {
        let place = tempfile::tempdir().unwrap();
        for (path, wanted) in [
            (place.path(), "it is a folder, want a regular file"),
            (Path::new("/dev/zero"), "it is a pipe or a device, want a regular file"),
            (&place.path().join("none"), "cannot read"),
        ] {
            assert!(open(path).unwrap_err().to_string().contains(wanted), "{}", path.display());
        }
        let path = place.path().join("latin");
        fs::write(&path, b"\xe4").unwrap();
        assert!(
            text(&path, "cannot read").unwrap_err().to_string().ends_with("cannot read: it is not UTF-8")
        );
        let large = File::create(place.path().join("large")).unwrap();
        large.set_len(1 << 31).unwrap();
        assert!(
            text(&place.path().join("large"), "cannot read")
                .unwrap_err()
                .to_string()
                .contains("more than 64 MiB")
        );
    }
}
