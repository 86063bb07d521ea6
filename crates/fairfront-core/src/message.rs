//! Messages that name settings as data, so that each program can render them in its own terms.
//!
//! A [`Message`] consists of words, settings ([`Name`], [`Setting`]), asides and remedies. Each
//! program renders settings with its own [`Wording`]: the command turns the setting `missing` with
//! the value `keep` into a flag, Python into a keyword argument. [`Display`](fmt::Display) uses the
//! neutral names.
//!
//! ```
//! use fairfront_core::{Name, Message, Setting, Wording, say, with};
//!
//! const MERGE: Name = Name::new("merge");
//! const POOL_GROUPS: Name = Name::new("pool_groups");
//!
//! let n = 300;
//! let message = say!["the attribute has {n} groups"; "merge some", with(MERGE); "set ", POOL_GROUPS.is(5)];
//! assert_eq!(
//!     message.to_string(),
//!     "the attribute has 300 groups; merge some with merge, or set pool_groups=5"
//! );
//!
//! #[derive(Debug)]
//! struct Keywords;
//! impl Wording for Keywords {
//!     fn setting(&self, setting: &Setting) -> Option<String> {
//!         (setting.name() == POOL_GROUPS).then(|| format!("poolGroups: {}", setting.value().unwrap()))
//!     }
//! }
//! assert_eq!(
//!     message.render(&Keywords),
//!     "the attribute has 300 groups; merge some, or set poolGroups: 5"
//! );
//! ```

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The neutral name of a setting, such as `pool_groups`, or of a command, such as `data get`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name {
    command: Option<&'static str>,
    word: Option<&'static str>,
}

impl Name {
    /// A setting.
    pub const fn new(word: &'static str) -> Self {
        Self {
            command: None,
            word: Some(word),
        }
    }

    /// A command of the program.
    pub const fn command_named(command: &'static str) -> Self {
        Self {
            command: Some(command),
            word: None,
        }
    }

    /// A setting of a command other than the one that the message is about.
    #[must_use]
    pub const fn in_command(self, command: &'static str) -> Self {
        Self {
            command: Some(command),
            ..self
        }
    }

    /// The command that the name belongs to, if any.
    pub fn command(self) -> Option<&'static str> {
        self.command
    }

    /// The setting, in lowercase with underscores; `None` for a command.
    pub fn word(self) -> Option<&'static str> {
        self.word
    }

    /// The setting with a value.
    #[must_use]
    pub fn is(self, value: impl ToString) -> Setting {
        Setting::from(self).is(value)
    }

    /// The setting for a column, an attribute or anything else with a name.
    #[must_use]
    pub fn of(self, key: impl Into<String>) -> Setting {
        self.of_all([key])
    }

    /// The setting for several columns.
    #[must_use]
    pub fn of_all<K: Into<String>>(self, keys: impl IntoIterator<Item = K>) -> Setting {
        Setting {
            name: self,
            keys: keys.into_iter().map(Into::into).collect(),
            value: None,
        }
    }
}

/// A setting, optionally with the columns it applies to and its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    name: Name,
    keys: Vec<String>,
    value: Option<String>,
}

impl Setting {
    /// The same setting with a value.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "literals and numbers read better without a reference"
    )]
    #[must_use]
    pub fn is(mut self, value: impl ToString) -> Self {
        self.value = Some(value.to_string());
        self
    }

    /// Its name.
    pub fn name(&self) -> Name {
        self.name
    }

    /// The columns or other named things that it applies to.
    pub fn keys(&self) -> &[String] {
        &self.keys
    }

    /// The value to set.
    pub fn value(&self) -> Option<&str> {
        self.value.as_deref()
    }
}

impl From<Name> for Setting {
    fn from(name: Name) -> Self {
        name.of_all::<String>([])
    }
}

/// The words that a program uses for settings.
pub trait Wording: fmt::Debug + Sync {
    /// The setting as users of the program write it; `None` if the program does not have it.
    fn setting(&self, setting: &Setting) -> Option<String>;
}

/// The neutral wording: `pool_groups`, `missing=keep`, `type of "age"=numeric`. It has no commands.
#[derive(Debug, Clone, Copy)]
pub struct Neutral;

impl Neutral {
    fn of(setting: &Setting) -> String {
        let words = setting.name.command.into_iter().chain(setting.name.word);
        let mut text = words.collect::<Vec<_>>().join(" ");
        if !setting.keys.is_empty() {
            let keys: Vec<String> = setting.keys.iter().map(|key| format!("{key:?}")).collect();
            text = format!("{text} of {}", keys.join(", "));
        }
        let is_plain = |c: char| c.is_alphanumeric() || "_-+.,:/%".contains(c);
        match &setting.value {
            Some(value) if value.chars().all(is_plain) => format!("{text}={value}"),
            Some(value) => format!("{text}={value:?}"),
            None => text,
        }
    }
}

impl Wording for Neutral {
    fn setting(&self, setting: &Setting) -> Option<String> {
        setting.name.word.map(|_| Self::of(setting))
    }
}

/// A message for users: a problem with its remedies, or a note.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Message(Vec<Part>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Words(String),
    /// Settings with the word that joins the last two. The program needs to have one of them.
    Settings(Vec<Setting>, &'static str),
    /// Left out if the program does not have its settings.
    Aside(Message),
    /// An action, left out if the program does not have its settings. Consecutive remedies are
    /// alternatives.
    Remedy(Message),
}

impl Message {
    /// Renders the message for a program. Remedies and asides that need a setting that the program
    /// does not have are left out; anywhere else, such a setting has its neutral name.
    pub fn render(&self, wording: &dyn Wording) -> String {
        let named = |setting: &Setting| {
            let own = wording.setting(setting);
            Some(own.unwrap_or_else(|| Neutral::of(setting)))
        };
        self.written(&named, wording).unwrap_or_default()
    }

    /// The same message, rendered to words only.
    #[must_use]
    pub fn worded(&self, wording: &dyn Wording) -> Self {
        self.render(wording).into()
    }

    /// Whether it starts with this setting.
    pub fn opens_with(&self, name: Name) -> bool {
        match self.0.first() {
            Some(Part::Settings(settings, _)) => settings.iter().any(|s| s.name == name),
            _ => false,
        }
    }

    fn written(
        &self,
        named: &dyn Fn(&Setting) -> Option<String>,
        wording: &dyn Wording,
    ) -> Option<String> {
        let optional = |message: &Self| message.written(&|s| wording.setting(s), wording);
        let mut text = String::new();
        let mut remedies = Vec::new();
        for part in &self.0 {
            if let Part::Remedy(remedy) = part {
                remedies.extend(optional(remedy));
                continue;
            }
            push_remedies(&mut text, &mut remedies);
            match part {
                Part::Words(words) => text.push_str(words),
                Part::Settings(settings, join) => {
                    let own: Vec<String> = settings.iter().filter_map(named).collect();
                    text.push_str(&joined(&own, &format!(" {join} "))?);
                }
                Part::Aside(aside) => text.push_str(&optional(aside).unwrap_or_default()),
                Part::Remedy(_) => {}
            }
        }
        push_remedies(&mut text, &mut remedies);
        Some(text)
    }

    /// The same message with a column or attribute renamed, in words (where names are in double
    /// quotes) and in settings.
    #[must_use]
    pub fn renamed(mut self, old: &str, new: &str) -> Self {
        let (quoted_old, quoted_new) = (format!("{old:?}"), format!("{new:?}"));
        for part in &mut self.0 {
            match part {
                Part::Words(words) => *words = words.replace(&quoted_old, &quoted_new),
                Part::Settings(settings, _) => {
                    let keys = settings.iter_mut().flat_map(|s| &mut s.keys);
                    keys.filter(|key| *key == old)
                        .for_each(|key| new.clone_into(key));
                }
                Part::Aside(message) | Part::Remedy(message) => {
                    *message = std::mem::take(message).renamed(old, new);
                }
            }
        }
        self
    }

    /// Appends a message.
    pub fn push(&mut self, more: impl Into<Self>) {
        self.0.extend(more.into().0);
    }

    /// Appends a remedy.
    pub fn push_remedy(&mut self, remedy: impl Into<Self>) {
        self.0.push(Part::Remedy(remedy.into()));
    }
}

/// `; a`, `; a, or b`, `; a, b, or c`.
fn push_remedies(text: &mut String, remedies: &mut Vec<String>) {
    let last = if remedies.len() > 1 { ", or " } else { "" };
    if let Some(all) = joined(remedies, last) {
        text.push_str("; ");
        text.push_str(&all);
    }
    remedies.clear();
}

/// The items with commas between them and `last` before the last one; `None` without any.
fn joined(items: &[String], last: &str) -> Option<String> {
    let (end, others) = items.split_last()?;
    Some(match others {
        [] => end.clone(),
        others => format!("{}{last}{end}", others.join(", ")),
    })
}

/// Alternative settings: `a, b or c`, of those that the program has.
pub fn either<S: Into<Setting>>(settings: impl IntoIterator<Item = S>) -> Message {
    list(settings, "or")
}

/// Several settings: `a, b and c`, of those that the program has.
pub fn each<S: Into<Setting>>(settings: impl IntoIterator<Item = S>) -> Message {
    list(settings, "and")
}

fn list<S: Into<Setting>>(settings: impl IntoIterator<Item = S>, join: &'static str) -> Message {
    let settings = settings.into_iter().map(Into::into).collect();
    Message(vec![Part::Settings(settings, join)])
}

/// Words that are left out if the program does not have the settings in them.
pub fn aside(message: impl Into<Message>) -> Message {
    Message(vec![Part::Aside(message.into())])
}

/// ` with SETTING`, if the program has it.
pub fn with(settings: impl Into<Message>) -> Message {
    let mut message = Message::from(" with ");
    message.push(settings);
    aside(message)
}

/// ` (SETTING)`, if the program has it.
pub fn bracketed(settings: impl Into<Message>) -> Message {
    let mut message = Message::from(" (");
    message.push(settings);
    message.push(")");
    aside(message)
}

impl From<String> for Message {
    fn from(words: String) -> Self {
        Self(vec![Part::Words(words)])
    }
}

impl From<&str> for Message {
    fn from(words: &str) -> Self {
        words.to_owned().into()
    }
}

impl From<Setting> for Message {
    fn from(setting: Setting) -> Self {
        either([setting])
    }
}

impl From<Name> for Message {
    fn from(name: Name) -> Self {
        either([name])
    }
}

impl From<&Message> for Message {
    fn from(message: &Message) -> Self {
        message.clone()
    }
}

impl<M: Into<Message>> From<Option<M>> for Message {
    fn from(message: Option<M>) -> Self {
        message.map(Into::into).unwrap_or_default()
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(&Neutral))
    }
}

/// Serializes to a string with neutral names.
impl Serialize for Message {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Deserializes a string to words only.
impl<'de> Deserialize<'de> for Message {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Into::into)
    }
}

/// Serializes all parts of a message, so that a program that reads it back can still render it in its own
/// wording: `#[serde(with = "fairfront_core::structured")]`.
pub mod structured {
    use std::collections::BTreeSet;
    use std::sync::{Mutex, PoisonError};

    use serde::de::Error as _;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::{Message, Name, Part, Setting};

    /// The maximum number of names and words that are kept for the rest of the program.
    const MOST_NAMES: usize = 1_000;

    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Stored {
        Words(String),
        Settings(Vec<StoredSetting>, String),
        Aside(Vec<Self>),
        Remedy(Vec<Self>),
    }

    #[derive(Serialize, Deserialize)]
    struct StoredSetting {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        command: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        word: Option<String>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        keys: Vec<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        value: Option<String>,
    }

    /// Serializes a message with its settings.
    pub fn serialize<S: Serializer>(message: &Message, to: S) -> Result<S::Ok, S::Error> {
        stored(message).serialize(to)
    }

    /// Restores a message with its settings.
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Message, D::Error> {
        let parts = Vec::<Stored>::deserialize(from)?;
        restored(parts).ok_or_else(|| D::Error::custom("too many names of settings"))
    }

    fn stored(message: &Message) -> Vec<Stored> {
        let setting = |setting: &Setting| StoredSetting {
            command: setting.name.command.map(Into::into),
            word: setting.name.word.map(Into::into),
            keys: setting.keys.clone(),
            value: setting.value.clone(),
        };
        let part = |part: &Part| match part {
            Part::Words(words) => Stored::Words(words.clone()),
            Part::Settings(settings, join) => {
                Stored::Settings(settings.iter().map(setting).collect(), (*join).into())
            }
            Part::Aside(message) => Stored::Aside(stored(message)),
            Part::Remedy(message) => Stored::Remedy(stored(message)),
        };
        message.0.iter().map(part).collect()
    }

    fn restored(parts: Vec<Stored>) -> Option<Message> {
        let setting = |setting: StoredSetting| {
            Some(Setting {
                name: Name {
                    command: kept(setting.command)?,
                    word: kept(setting.word)?,
                },
                keys: setting.keys,
                value: setting.value,
            })
        };
        let part = |part: Stored| {
            Some(match part {
                Stored::Words(words) => Part::Words(words),
                Stored::Settings(settings, join) => {
                    let settings = settings.into_iter().map(setting).collect::<Option<_>>()?;
                    Part::Settings(settings, kept(Some(join))??)
                }
                Stored::Aside(parts) => Part::Aside(restored(parts)?),
                Stored::Remedy(parts) => Part::Remedy(restored(parts)?),
            })
        };
        parts
            .into_iter()
            .map(part)
            .collect::<Option<_>>()
            .map(Message)
    }

    /// The same string, kept for the rest of the program: there are few names of settings. `None` if there
    /// are too many.
    #[expect(
        clippy::option_option,
        reason = "a missing name differs from too many names"
    )]
    fn kept(name: Option<String>) -> Option<Option<&'static str>> {
        static NAMES: Mutex<BTreeSet<&str>> = Mutex::new(BTreeSet::new());
        let Some(name) = name else { return Some(None) };
        let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = names.get(name.as_str()) {
            return Some(Some(known));
        }
        if names.len() >= MOST_NAMES {
            return None;
        }
        let name: &'static str = name.leak();
        names.insert(name);
        Some(Some(name))
    }
}

/// Makes a [`Message`] from parts: string literals (with captures, as in `format!`), strings,
/// settings and messages. Each semicolon starts a remedy; several remedies are alternatives.
#[macro_export]
macro_rules! say {
    ($($part:expr),+ $(; $($remedy:expr),+)* $(;)?) => {{
        let mut message = $crate::Message::default();
        $(message.push($crate::say!(@ $part));)+
        $(message.push_remedy($crate::say![$($remedy),+]);)*
        message
    }};
    (@ $text:literal) => { ::std::format!($text) };
    (@ $part:expr) => { $part };
}

/// Declares settings that messages name, and the list `ALL` of these settings.
#[macro_export]
macro_rules! settings {
    ($($name:ident = $value:expr;)*) => {
        $(
            #[doc = concat!("`", stringify!($value), "`")]
            pub const $name: $crate::Name = $value;
        )*
        /// All settings declared here.
        pub const ALL: &[$crate::Name] = &[$($name),*];
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    const TYPE: Name = Name::new("type");
    const DROP: Name = Name::new("drop");
    const WINDOW: Name = Name::new("window").in_command("stream");
    const GET: Name = Name::command_named("data get");

    #[derive(Debug)]
    struct Only(&'static [Name]);

    impl Wording for Only {
        fn setting(&self, setting: &Setting) -> Option<String> {
            let has = self.0.contains(&setting.name());
            has.then(|| format!("<{}>", Neutral::of(setting)))
        }
    }

    #[test]
    fn structured_messages_keep_their_settings() {
        #[derive(Debug, PartialEq, Serialize, Deserialize)]
        struct Stored(#[serde(with = "structured")] Message);
        let n = 3;
        let message = say![
            TYPE.of("a").is("b"), " {n}", with(either([DROP, WINDOW]));
            "run ", GET;
            "stop"
        ];
        let text = serde_json::to_string(&Stored(message.clone())).unwrap();
        let Stored(found) = serde_json::from_str(&text).unwrap();
        assert_eq!(found, message);
        let wording = Only(&[TYPE, GET]);
        assert_eq!(found.render(&wording), message.render(&wording));
        assert!(serde_json::from_str::<Stored>("[{\"other\":1}]").is_err());
    }

    #[test]
    fn a_setting_has_a_neutral_form() {
        assert_eq!(say![DROP].to_string(), "drop");
        assert_eq!(
            say![TYPE.of("a b").is("numeric")].to_string(),
            r#"type of "a b"=numeric"#
        );
        assert_eq!(
            say![DROP.of_all(["a", "b"])].to_string(),
            r#"drop of "a", "b""#
        );
        assert_eq!(say![DROP.is("> 1")].to_string(), r#"drop="> 1""#);
        assert_eq!(say![WINDOW].to_string(), "stream window");
        assert_eq!(
            each([TYPE, DROP, WINDOW]).to_string(),
            "type, drop and stream window"
        );
    }

    #[test]
    fn remedies_need_settings_that_the_program_has() {
        let name = "x";
        let message =
            say!["column {name:?} is wrong"; "look at ", either([TYPE, DROP]); "wait"; "run ", GET];
        assert_eq!(
            message.to_string(),
            r#"column "x" is wrong; look at type or drop, or wait"#
        );
        assert_eq!(
            message.render(&Only(&[DROP, GET])),
            r#"column "x" is wrong; look at <drop>, wait, or run <data get>"#
        );
        assert_eq!(message.render(&Only(&[])), r#"column "x" is wrong; wait"#);
        let message = say!["no"; "set ", TYPE];
        assert_eq!(message.render(&Only(&[])), "no");
    }

    #[test]
    fn a_problem_names_every_setting() {
        let message = say![DROP, " cannot be ", TYPE, with(WINDOW), bracketed(DROP)];
        assert_eq!(
            message.render(&Only(&[DROP])),
            "<drop> cannot be type (<drop>)"
        );
        assert!(message.opens_with(DROP) && !message.opens_with(TYPE));
    }

    #[test]
    fn text_may_follow_remedies() {
        let inner = say!["a"; "b"];
        assert_eq!(say![inner, " c"; "d"].to_string(), "a; b c; d");
        assert_eq!(say!["x", None::<Message>, Some("y")].to_string(), "xy");
    }

    #[test]
    fn columns_can_be_renamed() {
        let message = say!["\"a\" and \"ab\""; "set ", DROP.of("a"), with(TYPE.of("ab"))];
        assert_eq!(
            message.renamed("a", "x").to_string(),
            r#""x" and "ab"; set drop of "x" with type of "ab""#
        );
    }

    #[test]
    fn a_message_is_stored_as_text() {
        let message = say!["no"; "set ", DROP];
        let stored = serde_json::to_string(&message).unwrap();
        assert_eq!(stored, r#""no; set drop""#);
        let read: Message = serde_json::from_str(&stored).unwrap();
        assert_eq!(read.render(&Only(&[DROP])), "no; set drop");
        assert_eq!(read, message.worded(&Neutral));
    }
}
