//! Tests the Rust facade: its examples run, and it agrees with the underlying crates.

#[path = "../examples/front.rs"]
mod front;
#[path = "../examples/loans.rs"]
mod loans;

use fairfront::data::{Known, Prepared};
use fairfront::model::Error as ModelError;
use fairfront::run::{Ask, Run, attribute_texts, fit};
use fairfront::{Choose, Error, Fit, Front, ModelId};

#[test]
fn examples_run() {
    loans::main().unwrap();
    front::main().unwrap();
}

#[test]
fn a_front_equals_that_of_the_underlying_crates() {
    let known = Known::parse("demo(rows=1500)").unwrap().unwrap();
    let spec = known.spec();
    let prepared = Prepared::from_known(&known, &spec, None).unwrap();
    let ask = Ask {
        models: Some(10),
        ..Ask::default()
    };
    let request = ask
        .request("demo", &attribute_texts(&prepared.spec), false)
        .unwrap();
    let fitted = fit(&prepared, &request, &mut ()).unwrap();
    let expected = Run::of(&fairfront_data::Facts::of(&prepared).unwrap(), &fitted);
    let found = Fit::from_known("demo(rows=1500)").unwrap().models(10).run();
    let found = found.unwrap();
    assert_eq!(found.run().front.params, expected.front.params);
    assert_eq!(found.columns(), expected.front.names);
    assert_eq!(found.len(), expected.front.len());
    assert!(found.unmitigated("test.accuracy").is_some_and(|a| a > 0.5));
    assert!(found.column("test.nonsense").is_none());
}

#[test]
fn a_written_front_can_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let fit = Fit::from_known("demo(rows=1500)").unwrap().models(10);
    let mut front = fit.run().unwrap();
    let place = front.write(folder.path().join("run")).unwrap();
    assert!(place.join("report.html").is_file());
    let mut again = Front::read(&place).unwrap();
    assert_eq!(again.run().front.params, front.run().front.params);
    let most = |front: &mut Front| front.select(&Choose::best("accuracy")).unwrap().model_id();
    assert_eq!(most(&mut again), most(&mut front));
    let model = folder.path().join("model.json");
    let chosen = again
        .select(&Choose::model_id(ModelId::of_index(0)))
        .unwrap();
    chosen.write(&model).unwrap();
    let read = fairfront::model::Model::read(&model).unwrap();
    assert_eq!(read.to_json(), chosen.model().to_json());
    // Files that exist are not replaced.
    assert!(matches!(
        chosen.write(&model),
        Err(Error::Model(ModelError::File { .. }))
    ));
    assert!(front.write(&place).is_err());
}

#[test]
fn wrong_names_are_errors_with_remedies() {
    let wrong = Fit::from_known("demo(rows=1500)")
        .unwrap()
        .target("aproved", "yes");
    let error = wrong.run().map(|front| front.len()).unwrap_err();
    assert!(error.to_string().contains("approved"), "{error}");
    let error = Fit::from_path("no such file.csv").target("y", "1").run();
    assert!(matches!(
        error.map(|f| f.len()),
        Err(Error::Model(ModelError::Table(_)))
    ));
    let error = Fit::from_known("adlt").map(|_| ()).unwrap_err();
    assert!(error.to_string().contains("adlt"), "{error}");
}
