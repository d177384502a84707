//! The report's own drawings, for a page that goes on.

use crate::Update;

pub fn live_main(update: &Update) -> String {
    let page = report::html(&update.result, &update.timeline, report::Documents::default());
    let main = page.split_once("<main>").and_then(|(_, rest)| rest.split_once("</main>"));
    main.map_or_else(String::new, |(main, _)| main.to_owned())
}

pub fn page_shell(title: &str, main: &str, script: &str) -> String {
    format!(
        "<!doctype html><html lang=en><meta charset=utf-8><title>{title}</title><body><main>{main}</main><script>{script}</script></body></html>"
    )
}
