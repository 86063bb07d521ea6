use std::path::{Path, PathBuf};

use fairfront_run::{page_data, write_file};

use crate::args::ReportArgs;
use crate::output::{self, Target};

/// The page's file in a run folder.
pub(crate) const FILE: &str = "report.html";

pub(super) fn run(args: &ReportArgs) -> anyhow::Result<()> {
    let Some(path) = &args.output else {
        let path = write(&args.run)?;
        return output::print(&format!("{}\n", path.display()));
    };
    let target = Target::check(path)?;
    target.check_free(args.force)?;
    let html = page_data(&args.run)?.to_html();
    target.write_by(|out| Ok(out.write_all(html.as_bytes())?))
}

/// Writes the page of a run into its folder, where it is one of the run's files, and says where.
pub(crate) fn write(run: &Path) -> anyhow::Result<PathBuf> {
    let html = page_data(run)?.to_html();
    let path = run.join(FILE);
    write_file(&path, html.as_bytes(), true)?;
    Ok(path)
}
