use fairfront_run::{page_data, write_page};

use crate::args::ReportArgs;
use crate::output::{self, Target};

pub(super) fn run(args: &ReportArgs) -> anyhow::Result<()> {
    let Some(path) = &args.output else {
        let path = write_page(&args.run)?;
        return output::print(&format!("{}\n", path.display()));
    };
    let target = Target::check(path)?;
    target.check_free(args.force)?;
    let html = page_data(&args.run)?.to_html();
    target.write_by(|out| Ok(out.write_all(html.as_bytes())?))
}
