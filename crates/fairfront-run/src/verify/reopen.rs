//! Finds and reads the rows of a run again.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use fairfront_core::{Message, say};
use fairfront_data::{
    ColumnType, Encoded, Input, Known, Prepared, ReadOptions, Source, Table, read_table,
};

use super::{RowPlaces, of_family, with_learners};
use crate::fit::fingerprint;
use crate::store::read_stable;
use crate::{Error, RunInfo};

/// Reads and encodes the rows of a run again; fails if they are no longer the run's rows.
pub(crate) fn rows_again(
    folder: &Path,
    info: &RunInfo,
    places: RowPlaces,
) -> Result<Encoded, Error> {
    let encoded = match info.stream {
        Some(_) => read_stable(folder, |place| (places.kept)(folder, place))?.0,
        None => reopen(folder, info, &[], places.published, None)?.1,
    };
    check_rows(info, &encoded)?;
    with_learners(of_family(encoded, info), info)
}

/// Fails if encoded rows are not the run's rows.
fn check_rows(info: &RunInfo, encoded: &Encoded) -> Result<(), Error> {
    match fingerprint(encoded)? == info.fingerprint {
        true => Ok(()),
        false => Err(Error::data(say![
            format!("{}: its rows are no longer the rows of the run", info.source);
            "restore the rows"; "fit again"
        ])),
    }
}

/// The place of the rows of a run.
enum Found {
    Known(Known),
    Files(Vec<String>, ReadOptions),
}

/// Reads the rows of a run again: the name of their table, and the encoded rows.
pub(super) fn reopen(
    folder: &Path,
    info: &RunInfo,
    files: &[String],
    published: Option<&Path>,
    remedy: Option<&Message>,
) -> Result<(String, Encoded), Error> {
    match found(folder, info, files, remedy)? {
        Found::Known(known) => {
            let prepared = Prepared::from_known(&known, &info.spec, published).map_err(failed)?;
            Ok((prepared.table.name.clone(), Encoded::new(&prepared)?))
        }
        Found::Files(files, options) => {
            let source = Source::read(&files, &info.spec, options, false, None, &mut |_| {});
            let Input { facts, encoded, .. } = source.map_err(failed)?.input;
            Ok((facts.table, encoded))
        }
    }
}

/// Reads the table of a run again, into memory, and encodes it without learners; fails if its rows have changed.
pub(crate) fn prepared_again(
    folder: &Path,
    info: &RunInfo,
    files: &[String],
    published: Option<&Path>,
) -> Result<(Prepared, Encoded), Error> {
    let remedy = say!["pass its path after the folder"];
    let prepared = match found(folder, info, files, Some(&remedy))? {
        Found::Known(known) => Prepared::from_known(&known, &info.spec, published).map_err(failed),
        Found::Files(files, _) if files.iter().any(|file| Input::is_block_file(file.as_ref())) => {
            Err(Error::data(say![
                "the rows of the run are in a block file, which has no columns of the table";
                "fit the table itself"
            ]))
        }
        Found::Files(files, options) => {
            Prepared::from_files(&files, &info.spec, options).map_err(failed)
        }
    }?;
    let encoded = Encoded::new(&prepared)?;
    check_rows(info, &encoded)?;
    Ok((prepared, encoded))
}

/// Reads these columns of a run's files again, also if they are not features; `None` for a known data set.
pub(crate) fn columns_again(
    folder: &Path,
    info: &RunInfo,
    files: &[String],
    columns: BTreeSet<String>,
    types: BTreeMap<String, ColumnType>,
) -> Result<Option<Table>, Error> {
    let Found::Files(files, mut options) = found(folder, info, files, None)? else {
        return Ok(None);
    };
    options.types.extend(types);
    options.keep.extend(columns.iter().cloned());
    options.only = Some(columns);
    Ok(Some(read_table(&files, &options).map_err(failed)?))
}

/// Errors in reading are caused by the run or its data, not by wrong usage.
fn failed(error: fairfront_data::Error) -> Error {
    match error.is_usage() {
        true => Error::data(say![
            "the data cannot be read with the settings of the run: ",
            error.message()
        ]),
        false => error.into(),
    }
}

/// Finds the rows of a run.
fn found(
    folder: &Path,
    info: &RunInfo,
    files: &[String],
    remedy: Option<&Message>,
) -> Result<Found, Error> {
    let known = match (files, &info.read) {
        ([one], _) => Known::parse(one)?,
        ([], None) => {
            Known::named(&info.source).map_err(|e| Error::file(&folder.join("run.json"), e))?
        }
        _ => None,
    };
    if let Some(known) = known {
        return Ok(Found::Known(known));
    }
    let name_them = |why: String| {
        let mut message = Message::from(why);
        if let Some(remedy) = remedy {
            message.push_remedy(remedy);
        }
        Error::data(message)
    };
    let (own, options) = match &info.read {
        Some(read) => (read.files.as_slice(), read.options.clone()),
        None => (&[][..], ReadOptions::default()),
    };
    let files = match files.is_empty() {
        false => files.to_vec(),
        true if own.is_empty() => {
            let source = &info.source;
            return Err(name_them(format!(
                "the run names no file with the rows of {source:?}"
            )));
        }
        true if own.iter().any(|file| file == "-") => {
            return Err(name_them(
                "the run read its rows from standard input".into(),
            ));
        }
        true => own
            .iter()
            .map(|name| place_of(folder, name))
            .collect::<Result<Vec<String>, String>>()
            .map_err(name_them)?,
    };
    let is_absent = |file: &&String| *file != "-" && !Path::new(file).exists();
    if let Some(absent) = files.iter().find(is_absent) {
        return Err(name_them(format!("{absent}: no such file")));
    }
    Ok(Found::Files(files, options))
}

/// Finds a file of a run in the current folder, or next to the run folder.
fn place_of(folder: &Path, name: &str) -> Result<String, String> {
    let absolute = std::path::absolute(folder).ok();
    let sibling = absolute
        .as_deref()
        .and_then(Path::parent)
        .map(|parent| parent.join(name));
    let places = [Some(Path::new(name).to_path_buf()), sibling];
    let mut places = places.into_iter().flatten();
    let found = places.find(|place| place.exists());
    let found = found.map(|place| place.to_string_lossy().into_owned());
    found.ok_or_else(|| {
        format!("{name}: no such file in the current folder or next to the run folder")
    })
}
