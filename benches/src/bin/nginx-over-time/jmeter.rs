//! Apache JMeter, without its window: threads that send one request after the other.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use bed::Bed;

/// More threads were no faster on two CPUs.
const THREADS: u32 = 200;

/// Its command line, with a plan in `folder`.
pub fn command(bed: &Bed, home: &Path, folder: &Path, server: &str, seconds: u32) -> Result<Command> {
    let plan = folder.join("plan.jmx");
    std::fs::write(&plan, text(server, seconds))?;
    let mut command = bed.generator().command("taskset");
    command.args(["-c", crate::OWN_CPU, "java", "-Xmx1g", "-jar"]).arg(home.join("bin/ApacheJMeter.jar"));
    command.arg("-n").arg("-t").arg(&plan).arg("-j").arg(folder.join("jmeter.log"));
    Ok(command)
}

/// Requests that were answered, and those that failed: `summary = 134666 in 00:00:23 = 5850.7/s … Err: 0 …`.
pub fn told(said: &str) -> Result<(u64, u64)> {
    let line = said.lines().rev().find(|line| line.starts_with("summary =")).context("JMeter's summary")?;
    let after = |word: &str| line.split(word).nth(1)?.split_whitespace().next()?.parse::<u64>().ok();
    let (all, failed) = (after("summary =").context("its requests")?, after("Err:").context("its errors")?);
    Ok((all - failed, failed))
}

fn text(server: &str, seconds: u32) -> String {
    let string = |name: &str, value: &str| format!("<stringProp name=\"{name}\">{value}</stringProp>");
    let element = |kind: &str, gui: &str, name: &str, inside: &str| {
        format!(
            "<{kind} guiclass=\"{gui}\" testclass=\"{kind}\" testname=\"{name}\" enabled=\"true\">{inside}</{kind}>"
        )
    };
    let forever = "<elementProp name=\"ThreadGroup.main_controller\" elementType=\"LoopController\" \
                   guiclass=\"LoopControlPanel\" testclass=\"LoopController\">\
                   <boolProp name=\"LoopController.continue_forever\">false</boolProp>\
                   <intProp name=\"LoopController.loops\">-1</intProp></elementProp>";
    let threads = [
        string("ThreadGroup.on_sample_error", "continue"),
        forever.to_owned(),
        string("ThreadGroup.num_threads", &THREADS.to_string()),
        string("ThreadGroup.ramp_time", "1"),
        "<boolProp name=\"ThreadGroup.scheduler\">true</boolProp>".to_owned(),
        string("ThreadGroup.duration", &seconds.to_string()),
        string("ThreadGroup.delay", "0"),
    ]
    .concat();
    let request = [
        string("HTTPSampler.domain", server),
        string("HTTPSampler.port", "80"),
        string("HTTPSampler.path", "/"),
        string("HTTPSampler.method", "GET"),
        "<boolProp name=\"HTTPSampler.use_keepalive\">true</boolProp>".to_owned(),
        string("HTTPSampler.implementation", "HttpClient4"),
    ]
    .concat();
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<jmeterTestPlan version=\"1.2\" properties=\"5.0\"><hashTree>{}\
         <hashTree>{}<hashTree>{}<hashTree/></hashTree></hashTree></hashTree></jmeterTestPlan>\n",
        element("TestPlan", "TestPlanGui", "plan", ""),
        element("ThreadGroup", "ThreadGroupGui", "threads", &threads),
        element("HTTPSamplerProxy", "HttpTestSampleGui", "request", &request)
    )
}
