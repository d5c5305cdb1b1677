//! Scenarios that try each key and each name of the schema once, so that a new key is in the corpus as soon as there
//! is one.

use serde_json::{Map, Value, json};

/// A seed for each key of a schema with each value that the schema names for it.
pub fn seeds(schema: &Value) -> Vec<Vec<u8>> {
    let Some(keys) = schema["properties"].as_object() else {
        return Vec::new();
    };
    let mut seeds = Vec::new();
    for (key, rule) in keys {
        for value in examples(rule) {
            let mut scenario = smallest();
            merge(&mut scenario, json!({ key: value }));
            seeds.push(written(&scenario).into_bytes());
        }
    }
    seeds
}

/// A scenario without anything that it can do without.
fn smallest() -> Value {
    json!({
        "duration": "100us",
        "topology": { "builder": "single-switch", "hosts": 3, "rate": "40Gbps", "delay": "1us" },
        "scheme": [{ "name": "PFC" }],
        "traffic": [{ "name": "A", "kind": "flow", "from": "H1", "to": "H0", "size": "10KB" }],
    })
}

/// Values that a rule allows: every name, and of an object one with each value of each key.
fn examples(rule: &Value) -> Vec<Value> {
    if let Some(alternatives) = rule["anyOf"].as_array() {
        return alternatives.iter().flat_map(examples).collect();
    }
    if let Some(names) = rule["enum"].as_array() {
        return names.clone();
    }
    if let Some(properties) = rule["properties"].as_object() {
        return objects(properties);
    }
    let first = rule.get("const").or_else(|| rule.get("default"));
    let mut found: Vec<Value> = first.into_iter().cloned().collect();
    for kind in kinds(&rule["type"]) {
        found.extend(match kind {
            "boolean" => vec![json!(true), json!(false)],
            "number" | "integer" => vec![json!(2)],
            "array" => examples(&rule["items"])
                .into_iter()
                .map(|item| json!([item]))
                .collect(),
            "object" => examples(&rule["additionalProperties"])
                .into_iter()
                .map(|value| json!({ "40Gbps": value }))
                .collect(),
            _ => vec![json!(text(rule["pattern"].as_str().unwrap_or_default()))],
        });
    }
    found
}

fn kinds(rule: &Value) -> Vec<&str> {
    match rule {
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
        one => one.as_str().into_iter().collect(),
    }
}

/// An object for each value of each key, with the keys that say which alternative it is.
fn objects(properties: &Map<String, Value>) -> Vec<Value> {
    let constant = |(key, rule): (&String, &Value)| Some((key.clone(), rule.get("const")?.clone()));
    let constants: Map<_, _> = properties.iter().filter_map(constant).collect();
    let mut found = Vec::new();
    for (key, rule) in properties {
        for value in examples(rule) {
            let mut object = constants.clone();
            object.insert(key.clone(), value);
            found.push(Value::Object(object));
        }
    }
    found
}

/// A text of a pattern, by the units in it.
fn text(pattern: &str) -> &'static str {
    const UNITS: [(&str, &str); 3] = [("|us|", "20us"), ("|KiB|", "20KB"), ("bps", "10Gbps")];
    let known = UNITS.iter().find(|(unit, _)| pattern.contains(unit));
    known.map_or("H1", |(_, text)| text)
}

/// Puts keys into an object, and into the first object of a list.
fn merge(into: &mut Value, from: Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (key, value) in from {
                merge(into.entry(key).or_insert(Value::Null), value);
            }
        }
        (Value::Array(into), Value::Array(from)) if !into.is_empty() => {
            for value in from.into_iter().take(1) {
                merge(&mut into[0], value);
            }
        }
        (into, from) => *into = from,
    }
}

/// TOML, a line for each key of the file.
fn written(scenario: &Value) -> String {
    let line = |(key, value): (&String, &Value)| format!("{key} = {}\n", inline(value));
    scenario
        .as_object()
        .into_iter()
        .flatten()
        .map(line)
        .collect()
}

fn inline(value: &Value) -> String {
    let joined = |parts: Vec<String>| parts.join(", ");
    match value {
        Value::Array(items) => format!("[{}]", joined(items.iter().map(inline).collect())),
        Value::Object(entries) => {
            let entry = |(key, value): (&String, &Value)| format!("{:?} = {}", key, inline(value));
            format!("{{ {} }}", joined(entries.iter().map(entry).collect()))
        }
        other => other.to_string(),
    }
}
