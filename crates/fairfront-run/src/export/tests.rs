use super::*;

#[test]
fn spellings_are_all_there_is() {
    assert_eq!(spellings("n/a"), ["N/A", "N/a", "n/A", "n/a"]);
    assert_eq!(spellings("?"), ["?"]);
    assert_eq!(spellings("nan").len(), 8);
    assert_eq!(
        spellings("not available"),
        ["NOT AVAILABLE", "Not available", "not available"]
    );
}
