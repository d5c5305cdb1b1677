//! `unpause vectors` and `unpause check`: mechanisms for those who build them elsewhere.

use std::io::{self, BufWriter, Write};
use std::time::Duration;

use serde_json::json;
use unpause_scenario::{Error, count};
use unpause_vectors::{Case, Failure, Form, Mechanism, cases_of, check, find, mechanisms, write};

use crate::args::{self, Check, Machines, Vectors};
use crate::output::{note, show, show_json};

/// `unpause vectors`
pub fn vectors(args: &Vectors) -> Result<(), Error> {
    let Some(name) = &args.mechanism else {
        show(&listed());
        return Ok(());
    };
    let chosen = chosen(name, &args.machines)?;
    if args.parameters {
        chosen.iter().for_each(|it| show(&parameters(it)));
        return Ok(());
    }
    let mut out = BufWriter::new(io::stdout().lock());
    for mechanism in &chosen {
        let written = write(&cases_of(mechanism), form(&args.machines), &mut out);
        note(written);
    }
    note(out.flush());
    Ok(())
}

/// `unpause check`; answers the exit code.
pub fn compare(args: &Check) -> Result<u8, Error> {
    let chosen = chosen(&args.mechanism, &args.machines)?;
    let cases: Vec<Case> = chosen.iter().flat_map(cases_of).collect();
    let patience = Duration::from_nanos(args.timeout.as_ps() / 1_000);
    let form = form(&args.machines);
    let done = check(&cases, &args.against, form, args.tolerance, patience);
    let name = &args.mechanism;
    let json = args.output == args::Form::Json;
    match done {
        Ok(passed) if json => {
            show_json(
                &json!({"mechanism": name, "cases": passed.cases, "events": passed.events, "differs": null}),
            );
            Ok(0)
        }
        Ok(passed) => {
            show(&format!(
                "{name}: {} events of {} cases: every answer is as expected\n",
                count(passed.events as u64),
                passed.cases
            ));
            Ok(0)
        }
        Err(Failure::Differs(found)) => {
            if json {
                let fields: Vec<_> = found
                    .fields
                    .iter()
                    .map(|(name, expected, answered)| {
                        json!({"field": name, "expected": expected, "answered": answered})
                    })
                    .collect();
                show_json(&json!({"mechanism": name, "differs": {
                    "case": found.case, "name": found.name, "event": found.event,
                    "before": found.before, "told": found.told, "fields": fields,
                }}));
            } else {
                show(&format!("{name}: {found}"));
            }
            Ok(1)
        }
        Err(Failure::Program(message)) => Err(Error::Other {
            message: format!("{}: {message}", args.against),
            help: None,
        }),
    }
}

fn form(machines: &Machines) -> Form {
    if machines.words {
        Form::Words
    } else {
        Form::Json
    }
}

/// The mechanisms of a name, with the settings that were typed.
fn chosen(name: &str, machines: &Machines) -> Result<Vec<Mechanism>, Error> {
    let wrong = |message: String, help: &str| Error::Other {
        message,
        help: Some(help.to_owned()),
    };
    let mut found = find(name, machines.kind.as_deref())
        .map_err(|message| wrong(message, "`unpause vectors` lists all"))?;
    for (index, (parameter, value)) in machines.settings.iter().enumerate() {
        let mut before = machines.settings[..index].iter();
        if before.any(|(earlier, _)| earlier == parameter) {
            return Err(wrong(
                format!("--set {parameter} is given twice"),
                "write each parameter once",
            ));
        }
        let mut is_known = false;
        for mechanism in &mut found {
            let set = mechanism.set(parameter, value);
            is_known |= set.map_err(|message| {
                wrong(
                    message,
                    &format!("`unpause vectors {name} --parameters` lists all"),
                )
            })?;
        }
        if !is_known {
            return Err(wrong(
                format!("{name} has no parameter {parameter}"),
                &format!("`unpause vectors {name} --parameters` lists all"),
            ));
        }
    }
    Ok(found)
}

fn listed() -> String {
    let mut text = String::new();
    let mut last = "";
    for it in mechanisms() {
        if it.kind.name() != last {
            last = it.kind.name();
            text += &format!("{last}\n");
        }
        text += &format!("  {}\n", it.name);
    }
    text + "\nunpause vectors NAME > NAME.jsonl writes them; unpause check NAME --against COMMAND compares.\n"
}

fn parameters(it: &Mechanism) -> String {
    let mut text = format!("{} ({})\n", it.name, it.kind.name());
    let all = it.parameters();
    let width = all.iter().map(|(name, ..)| name.len()).max().unwrap_or(0);
    for (name, unit, value) in all {
        let value = value.unwrap_or_else(|| "not set".to_owned());
        text += &format!("  {name:width$}  {value}  [{unit}]\n");
    }
    text
}
