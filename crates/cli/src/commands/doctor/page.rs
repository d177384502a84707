//! The examination as typed figures for the page, and as JSON.

use super::Examination;
use doctor::{Finding, Load, Mend, Severity};
use profile::Refused;
use report::Ink;
use report::examination::{self as page, Mending, PlanExamined, PortFound};
use run::Failure;
use serde_json::{Value, json};

pub const SCHEMA: &str = "tare.doctor/1";

/// What the page says.
pub fn page(examination: &Examination) -> page::Examination {
    let profile = examination.profile.as_ref().map_err(ToString::to_string);
    let peaks = |profile: &profile::Profile| {
        profile.capabilities.iter().map(|one| (one.key.clone(), one.peak_per_s)).collect()
    };
    let plan = examination.asked.as_ref().zip(examination.forecast.as_ref());
    let port = |port: &doctor::PortState| PortFound {
        port: port.port.clone(),
        works: port.works,
        why: port.why.clone(),
    };
    page::Examination {
        machine: examination.overview.line(),
        profile: profile.map(peaks),
        ports: examination.ports.iter().map(port).collect(),
        plan: plan.map(|(asked, forecast)| PlanExamined {
            name: asked.name.clone(),
            load: asked.load.word(),
            forecast: forecast.to_string(),
        }),
        findings: examination.findings.iter().map(|finding| found(examination, finding)).collect(),
        settings: doctor::fix::steps(&examination.findings, examination.load(), &[]).len(),
    }
}

fn found(examination: &Examination, finding: &Finding) -> page::Finding {
    let severity = examination.severity(finding);
    page::Finding {
        id: finding.id.clone(),
        severity: severity.word(),
        ink: match severity {
            Severity::Fine => Ink::Good,
            Severity::Unknown => Ink::Quiet,
            Severity::Minor => Ink::Strong,
            Severity::Serious => Ink::Doubtful,
            Severity::Blocking => Ink::Bad,
        },
        matters: finding.matters(examination.load()),
        matters_somewhere: finding.matters(None),
        whom: finding.weight.whom().into_iter().map(Load::word).collect::<Vec<_>>().join(", "),
        found: finding.found.clone(),
        why: finding.why.clone(),
        source: finding.source.to_string(),
        mend: match &finding.mend {
            None => Mending::Nothing,
            Some(Mend::Advice { text }) => Mending::Advice(text.clone()),
            Some(mend) => {
                Mending::Commands { short: short(mend), commands: mend.commands(), undo: mend.undoing() }
            }
        },
    }
}

/// One line of how to mend it.
fn short(mend: &Mend) -> String {
    match mend {
        Mend::Settings { changes } if changes.len() > 1 => {
            format!("{} and {} more", changes[0].command(), changes.len() - 1)
        }
        mend => mend.commands().join("; "),
    }
}

/// Everything, for programs.
pub fn json(examination: &Examination, only: &[String]) -> Result<String, Failure> {
    let profile = match &examination.profile {
        Ok(profile) => json!({
            "holds": true, "refused": null, "made_unix_s": profile.made_unix_s,
            "peaks_per_s": profile.capabilities.iter().map(|c| json!({"key": c.key, "against": c.against, "peak_per_s": c.peak_per_s})).collect::<Vec<_>>(),
        }),
        Err(refused) => {
            let kind = match refused {
                Refused::None => "none",
                Refused::Changed(_) => "changed",
                Refused::Unreadable(_) => "unreadable",
            };
            json!({ "holds": false, "refused": kind, "why": refused.to_string() })
        }
    };
    let plan = examination
        .asked
        .as_ref()
        .map(|asked| json!({ "name": asked.name, "command": asked.demand.command, "load": asked.load }));
    let chosen = examination.findings.iter().filter(|finding| only.is_empty() || only.contains(&finding.id));
    let findings: Vec<Value> = chosen.map(|finding| one(examination, finding)).collect();
    let whole = json!({
        "schema": SCHEMA,
        "tare": env!("CARGO_PKG_VERSION"),
        "machine": examination.overview,
        "facts": examination.machine.facts,
        "measured": examination.subject.measured,
        "profile": profile,
        "plan": plan,
        "forecast": examination.forecast,
        "ports": examination.ports,
        "findings": findings,
    });
    let text = serde_json::to_string_pretty(&whole).map_err(Failure::wrong)?;
    Ok(text + "\n")
}

/// A finding, with how much it matters here and its commands as they are typed.
fn one(examination: &Examination, finding: &Finding) -> Value {
    let commands = |mend: fn(&Mend) -> Vec<String>| finding.mend.as_ref().map(mend).unwrap_or_default();
    json!({
        "id": finding.id,
        "severity": examination.severity(finding),
        "weight": finding.weight,
        "found": finding.found,
        "why": finding.why,
        "source": finding.source,
        "mend": finding.mend,
        "commands": commands(Mend::commands),
        "undo": commands(Mend::undoing),
    })
}
