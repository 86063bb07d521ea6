//! Files of the current case, in memory if the system supports it.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use tempfile::TempDir;

fn root() -> &'static Path {
    static ROOT: OnceLock<Option<TempDir>> = OnceLock::new();
    let made = ROOT.get_or_init(|| {
        let memory = Path::new("/dev/shm");
        let mut builder = tempfile::Builder::new();
        builder.prefix("fairfront-fuzz-");
        match memory.is_dir() {
            true => builder.tempdir_in(memory),
            false => builder.tempdir(),
        }
        .ok()
    });
    made.as_ref().map_or(Path::new("."), TempDir::path)
}

/// Removes all files, at the end of the process.
pub fn remove() {
    if root() != Path::new(".") {
        let _ = std::fs::remove_dir_all(root());
    }
}

/// Writes a file of the current case; the next file with this name replaces it.
pub(crate) fn file(name: &str, bytes: &[u8]) -> Result<String, String> {
    let path = root().join(name);
    std::fs::write(&path, bytes).map_err(|e| format!("the fuzzer cannot write: {e}"))?;
    Ok(path.display().to_string())
}

/// A folder with these files and no others.
pub(crate) fn folder(name: &str, files: &[(String, Vec<u8>)]) -> Result<PathBuf, String> {
    let folder = root().join(name);
    let fill = || -> std::io::Result<()> {
        if folder.exists() {
            std::fs::remove_dir_all(&folder)?;
        }
        std::fs::create_dir_all(&folder)?;
        for (name, bytes) in files {
            let path = folder.join(name);
            std::fs::create_dir_all(path.parent().unwrap_or(&folder))?;
            std::fs::write(path, bytes)?;
        }
        Ok(())
    };
    fill().map_err(|e| format!("the fuzzer cannot write: {e}"))?;
    Ok(folder)
}

/// The files of a folder and of its subfolders, by relative path, without links.
pub(crate) fn files_in(folder: &Path) -> std::io::Result<Vec<(String, Vec<u8>)>> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(&next)? {
            let entry = entry?;
            let kind = entry.file_type()?;
            if kind.is_dir() {
                folders.push(entry.path());
            } else if kind.is_file() {
                let path = entry.path();
                let name = path.strip_prefix(folder).unwrap_or(&path);
                files.push((name.display().to_string(), std::fs::read(&path)?));
            }
        }
    }
    files.sort();
    Ok(files)
}
