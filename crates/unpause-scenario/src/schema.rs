//! The JSON Schema of scenario files, for editors: made of what is declared of keys.

use serde_json::{Map, Value, json};

use crate::sections::loss_recovery::LOSS_RECOVERIES;
use crate::sections::marking::MARKINGS;
use crate::sections::scheme::CONGESTION_CONTROLS;
use crate::sections::sections;
use crate::sections::topology::BUILDERS;
use crate::sections::traffic::TRAFFIC_KINDS;
use crate::text::keys::{Key, KeyDefault, plain};

/// Which keys there are, what they mean and how their values are written, as JSON Schema. What it refuses is wrong, unless it
/// is a missing key that a sweep or a scheme sets; what holds among several keys it does not know. A file with a `base` needs
/// no key.
pub fn json_schema() -> Value {
    let mut file = table("");
    let properties = &mut file["properties"];
    properties["topology"] = topology();
    properties["scheme"] = list(scheme());
    properties["traffic"] = list(traffic());
    properties["job"] = list(job());
    properties["sweep"] = list(table("sweep"));
    properties["event"] = list(table("event"));
    properties["override"] = list(table("override"));
    file["required"] = json!(["duration", "topology", "scheme"]);
    let required = take_required(&mut file);
    file["if"] = json!({"required": ["base"]});
    file["else"] = required.unwrap_or_default();
    file["$schema"] = json!("http://json-schema.org/draft-07/schema#");
    file["title"] = json!("Scenario of unpause");
    file
}

/// Takes what `schema` says of required keys out of it, as a schema of its own.
fn take_required(schema: &mut Value) -> Option<Value> {
    let object = schema.as_object_mut()?;
    let mut taken = Map::new();
    if let Some(keys) = object.remove("required") {
        taken.insert("required".to_owned(), keys);
    }
    if let Some(items) = object.get_mut("items").and_then(take_required) {
        taken.insert("items".to_owned(), items);
    }
    if let Some(Value::Object(properties)) = object.get_mut("properties") {
        let of = |(name, value): (&String, &mut Value)| Some((name.clone(), take_required(value)?));
        let properties: Map<String, Value> = properties.iter_mut().filter_map(of).collect();
        if !properties.is_empty() {
            taken.insert("properties".to_owned(), Value::Object(properties));
        }
    }
    let is_form = |form: &Value| form["required"].is_array();
    if let Some(Value::Array(forms)) = object.get("oneOf")
        && forms.iter().all(is_form)
    {
        let Some(Value::Array(mut forms)) = object.remove("oneOf") else {
            return None;
        };
        let required: Vec<Value> = forms.iter_mut().filter_map(take_form).collect();
        // Without its name, several forms may fit.
        object.insert("anyOf".to_owned(), Value::Array(forms));
        taken.insert("oneOf".to_owned(), Value::Array(required));
    }
    (!taken.is_empty()).then_some(Value::Object(taken))
}

/// The required keys of one of several forms, and the name by which it is chosen.
fn take_form(form: &mut Value) -> Option<Value> {
    let mut required = take_required(form)?;
    for (name, value) in form["properties"].as_object()? {
        if value.get("const").is_some() {
            required["properties"][name.as_str()] = value.clone();
        }
    }
    Some(required)
}

/// The table at `path`, with the tables in it.
fn table(path: &str) -> Value {
    let found = sections().into_iter().find(|(it, _)| *it == path);
    let (_, keys) = found.expect("every table of keys is in the list");
    object(&keys, path)
}

/// A table of `keys`, and of nothing else.
fn object(keys: &[Key], path: &str) -> Value {
    let properties: Map<String, Value> = keys
        .iter()
        .map(|key| (key.name.to_owned(), property(key, path)))
        .collect();
    let required = keys.iter().filter(|key| key.is_required());
    let required: Vec<&str> = required.map(|key| key.name).collect();
    let mut object = json!({
        "type": "object",
        "properties": properties,
        "additionalProperties": false,
    });
    if !required.is_empty() {
        object["required"] = json!(required);
    }
    object
}

fn property(key: &Key, path: &str) -> Value {
    let below = match path {
        "" => key.name.to_owned(),
        path => format!("{path}.{}", key.name),
    };
    let is_table = sections().iter().any(|(it, _)| *it == below);
    let mut value = match key.kind.schema["type"] == "array" {
        true if is_table => list(table(&below)),
        false if is_table => table(&below),
        _ => key.kind.schema.clone(),
    };
    let default = default(key);
    if !key.description.starts_with("[below]") {
        value["description"] =
            json!(plain(key.description) + &default_words(key, default.is_some()));
    }
    if let Some(default) = default {
        value["default"] = default;
    }
    value
}

/// The value of a key that is not written, if it is one that the file could have.
fn default(key: &Key) -> Option<Value> {
    match &key.default {
        KeyDefault::Required => None,
        KeyDefault::Value(value) => {
            Some(serde_json::from_str(value).unwrap_or_else(|_| json!(value)))
        }
        KeyDefault::Words(words) => {
            let code = words.strip_prefix('`')?.strip_suffix('`')?;
            serde_json::from_str(code).ok()
        }
    }
}

/// Words about the default of a key beside its value.
fn default_words(key: &Key, has_value: bool) -> String {
    let words = match &key.default {
        KeyDefault::Words(words) if !has_value && *words != "-" && !key.is_required() => {
            plain(words)
        }
        _ => String::new(),
    };
    match (words.as_str(), key.origin) {
        ("", "") => String::new(),
        ("", origin) => format!(" (default from {})", plain(origin)),
        (words, _) if words.starts_with("required") => format!(" ({words})"),
        (words, "") => format!(" (default: {words})"),
        (words, origin) => format!(" (default: {words}; from {})", plain(origin)),
    }
}

fn list(items: Value) -> Value {
    json!({"type": "array", "items": items})
}

/// Names that a key may have, each with what it is.
fn named<'a>(names: impl Iterator<Item = (&'a str, String)>) -> Value {
    let one = |(name, what): (&str, String)| json!({"const": name, "description": what});
    json!({"oneOf": names.map(one).collect::<Vec<_>>()})
}

/// `[[scheme]]`, with a table for each mechanism.
fn scheme() -> Value {
    let mut scheme = table("scheme");
    let properties = &mut scheme["properties"];
    let with = |key: &mut Value, names: Value| {
        key["oneOf"] = names["oneOf"].clone();
    };
    let controls = CONGESTION_CONTROLS.iter();
    let laws = controls.clone().filter(|it| it.is_tcp());
    let named_control = |it: &crate::CongestionControl| (it.name(), plain(it.summary()));
    with(
        &mut properties["congestion_control"],
        named(controls.map(named_control)),
    );
    with(&mut properties["tcp"], named(laws.map(named_control)));
    let markings = MARKINGS.iter().map(|it| (it.name(), plain(it.summary())));
    with(&mut properties["marking"], named(markings));
    let recoveries = LOSS_RECOVERIES.iter();
    let recoveries = recoveries.map(|it| (it.name(), plain(it.summary())));
    with(&mut properties["loss_recovery"], named(recoveries));
    let tables = CONGESTION_CONTROLS.iter().map(|it| (it.name(), it.keys()));
    let markings = MARKINGS.iter().map(|it| (it.name(), it.keys()));
    let recoveries = LOSS_RECOVERIES.iter().map(|it| (it.name(), it.keys()));
    for (name, keys) in tables.chain(markings).chain(recoveries) {
        if !keys.is_empty() {
            properties[name] = object(&keys, "scheme");
        }
    }
    scheme
}

/// `[topology]`: other keys for each builder, or those of a file.
fn topology() -> Value {
    let mut file = table("topology");
    file["properties"]["file"] = json!({"type": "string"});
    file["required"] = json!(["file"]);
    let mut forms = vec![file];
    for builder in BUILDERS {
        let mut form = object(&builder.keys(), "topology");
        form["properties"]["builder"] = json!({"const": builder.name()});
        require(&mut form, [json!("builder")]);
        form["description"] = json!(plain(builder.nodes()));
        forms.push(form);
    }
    json!({"type": "object", "oneOf": forms})
}

/// Adds `names` to what a table must have.
fn require(table: &mut Value, names: impl IntoIterator<Item = Value>) {
    match table["required"].as_array_mut() {
        Some(required) => required.extend(names),
        None => table["required"] = names.into_iter().collect(),
    }
}

/// `[[job]]`, with its steps.
fn job() -> Value {
    let mut job = table("job");
    job["properties"]["step"] = list(table("job.step"));
    job
}

/// `[[traffic]]`: keys of every kind, and others for each.
fn traffic() -> Value {
    let forms = TRAFFIC_KINDS.iter().map(|kind| {
        let mut form = table("traffic");
        let own = object(&kind.keys(), "traffic");
        if let Some(required) = own["required"].as_array() {
            require(&mut form, required.iter().cloned());
        }
        let properties = form["properties"].as_object_mut();
        properties
            .expect("it is a table")
            .extend(own["properties"].as_object().cloned().unwrap_or_default());
        form["properties"]["kind"] = json!({"const": kind.name()});
        require(&mut form, [json!("kind")]);
        form["description"] = json!(plain(kind.what()));
        form
    });
    json!({"type": "object", "oneOf": forms.collect::<Vec<_>>()})
}
