//! The page as one HTML file: no script, nothing from elsewhere, in light and in dark.

use std::fmt::Write as _;

use onward_core::drawing::xml_text;

use super::page::{PhaseRow, SummaryPage};
use super::timeline::timeline;
use crate::render::graph::status_word;

/// Nothing may be loaded, whatever stands in the page.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; form-action 'none'; base-uri 'none'";

const STYLE: &str = "\
:root{color-scheme:light dark;--fg:#1f2328;--mut:#59636e;--bg:#fff;--line:#d1d9e0;--good:#1a7f37;--bad:#cf222e;--busy:#0969da;--wait:#9a6700}\
@media (prefers-color-scheme:dark){:root{--fg:#e6edf3;--mut:#9198a1;--bg:#0d1117;--line:#30363d;--good:#3fb950;--bad:#f85149;--busy:#4493f8;--wait:#d29922}}\
*{box-sizing:border-box}body{margin:0 auto;padding:2rem 1.25rem 4rem;max-width:960px;background:var(--bg);color:var(--fg);font:15px/1.5 system-ui,sans-serif}\
h1{font-size:1.6rem;margin:.2rem 0}h2{font-size:1.1rem;margin:2.2rem 0 .6rem}p{margin:.3rem 0;color:var(--mut)}\
.b{display:inline-block;padding:.1rem .6rem;border-radius:1rem;border:1px solid currentColor;font-size:.85rem;color:var(--mut)}\
.completed{color:var(--good)}.failed{color:var(--bad)}.running,.interrupted{color:var(--busy)}.waiting,.paused{color:var(--wait)}\
dl{display:grid;grid-template-columns:max-content 1fr;gap:.2rem 1.2rem;margin:1.2rem 0}dt{color:var(--mut)}dd{margin:0;overflow-wrap:anywhere}\
dd,td:first-child,li{font-family:ui-monospace,Menlo,Consolas,monospace;font-size:.9rem}\
table{border-collapse:collapse;width:100%}th{text-align:left;color:var(--mut);font-weight:500}\
th,td{padding:.35rem .7rem .35rem 0;border-bottom:1px solid var(--line);vertical-align:top;overflow-wrap:anywhere}\
ul{padding-left:1.2rem}li{margin:.2rem 0;overflow-wrap:anywhere}.wide{overflow-x:auto}.n{text-align:right}";

pub(crate) fn html(page: &SummaryPage) -> String {
    let (title, status) = (xml_text(&page.title), page.status.as_str());
    let mut out = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{title}: {status}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n\
         <span class=\"b {status}\">{status}</span>\n<h1>{title}</h1>\n<p>{}</p>\n<dl>\n",
        xml_text(&page.lead),
    );
    for (name, value) in &page.facts {
        let _ = writeln!(out, "<dt>{name}</dt><dd>{}</dd>", xml_text(value));
    }
    out.push_str("</dl>\n");
    if let Some(drawn) = timeline(&page.phases, &page.attempts, page.now) {
        let _ = write!(out, "<h2>Timeline</h2>\n<div class=\"wide\">{drawn}</div>\n");
    }
    let _ = write!(out, "<h2>Graph</h2>\n<div class=\"wide\">{}</div>\n", page.graph.svg());
    out.push_str("<h2>Phases</h2>\n<table>\n<tr><th>phase<th>name<th>status<th class=\"n\">took<th class=\"n\">attempts<th></tr>\n");
    out.extend(page.phases.iter().map(row));
    out.push_str("</table>\n");
    for section in &page.sections {
        let _ = write!(out, "<h2>{}</h2>\n<ul>\n", section.heading);
        for line in &section.lines {
            let _ = writeln!(out, "<li>{}</li>", xml_text(line));
        }
        out.push_str("</ul>\n");
    }
    out.push_str("</body>\n</html>\n");
    out
}

fn row(row: &PhaseRow) -> String {
    let [id, name, word, took, told] = [&row.id, &row.name, &row.word, &row.took, &row.told].map(|text| xml_text(text));
    let class = status_word(row.status);
    let attempts = row.attempts;
    format!(
        "<tr><td>{id}<td>{name}<td class=\"{class}\">{word}<td class=\"n\">{took}<td class=\"n\">{attempts}<td>{told}</tr>\n"
    )
}
