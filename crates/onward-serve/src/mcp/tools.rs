//! The tools: what each is called, what it takes, and whether it changes anything.

use rmcp::model::{Tool, ToolAnnotations};

use super::arguments::{Argument, ArgumentKind, Necessity, schema};
use super::calls::{self, ToolCall};
use super::server::Access;
use super::share;

/// One tool.
pub(super) struct ToolEntry {
    pub(super) name: &'static str,
    about: &'static str,
    pub(super) needs: Access,
    pub(super) arguments: &'static [Argument],
    pub(super) call: ToolCall,
}

const RUN: Argument = may("run", ArgumentKind::Text, "Run id or its beginning; left out: the newest run.");
const PHASE: Argument = must("phase", ArgumentKind::Text, "Id of the phase.");
const COMPLEXITY: Argument =
    may("complexity", ArgumentKind::Number, "How complex the phase turned out to be, from 1 to 10.");

const fn may(name: &'static str, kind: ArgumentKind, about: &'static str) -> Argument {
    Argument { name, kind, need: Necessity::May, about }
}

const fn must(name: &'static str, kind: ArgumentKind, about: &'static str) -> Argument {
    Argument { name, kind, need: Necessity::Must, about }
}

/// All tools, those that only look first.
pub(super) const TOOLS: &[ToolEntry] = &[
    ToolEntry {
        name: "status",
        about: "Show how a run stands: completed, running and remaining phases, with notes and errors.",
        needs: Access::Look,
        arguments: &[RUN],
        call: calls::status,
    },
    ToolEntry {
        name: "next",
        about: "Get the next phase to be done by you: its instructions, the note of an earlier attempt, the results it builds on. \
                The same phase comes until it is reported as done or failed. Without a phase the reason says why.",
        needs: Access::Look,
        arguments: &[RUN],
        call: calls::next,
    },
    ToolEntry {
        name: "brief",
        about: "Get a run told to a fresh mind: goal, decisions, what is done and by what it is proven, what failed and why, what \
                changed, the next step. Read it first when you come to work that somebody else began.",
        needs: Access::Look,
        arguments: &[
            RUN,
            may("tokens", ArgumentKind::Number, "How long it may be, in tokens of 4 characters; left out: 2,000."),
        ],
        call: calls::brief,
    },
    ToolEntry {
        name: "list",
        about: "List the runs of this project, newest first.",
        needs: Access::Look,
        arguments: &[
            may("all", ArgumentKind::Flag, "Archived runs too."),
            may("type", ArgumentKind::Text, "Only runs of this type."),
            may("project", ArgumentKind::Text, "Only runs of this project name."),
        ],
        call: calls::list,
    },
    ToolEntry {
        name: "show",
        about: "Show a checkpoint or a run in full, by its id. Files are not shown.",
        needs: Access::Look,
        arguments: &[must(
            "id",
            ArgumentKind::Text,
            "Id of a checkpoint or a run, its beginning, or the name of a checkpoint.",
        )],
        call: calls::show,
    },
    ToolEntry {
        name: "diff",
        about: "Compare two checkpoints: state, phases, plan and files.",
        needs: Access::Look,
        arguments: &[
            must("from", ArgumentKind::Text, "Id of the older checkpoint; `@-` is the one before the newest."),
            must("to", ArgumentKind::Text, "Id of the newer checkpoint; `@` is the newest."),
        ],
        call: calls::diff,
    },
    ToolEntry {
        name: "why",
        about: "Explain why a phase will or will not run.",
        needs: Access::Look,
        arguments: &[PHASE, RUN],
        call: calls::why,
    },
    ToolEntry {
        name: "message_inbox",
        about: "Get the messages for an agent that it has not acknowledged, oldest first.",
        needs: Access::Look,
        arguments: &[must("agent", ArgumentKind::Text, "The agent that they are for."), RUN],
        call: share::message_inbox,
    },
    ToolEntry {
        name: "knowledge_list",
        about: "List what was learned in a run.",
        needs: Access::Look,
        arguments: &[RUN],
        call: share::knowledge_list,
    },
    ToolEntry {
        name: "start",
        about: "Start a plan of your own: `{\"onward\": 1, \"name\": \"feature\", \"phases\": {\"design\": {\"external\": \
                {\"instructions\": \"…\"}}, \"build\": {\"needs\": [\"design\"], \"external\": {\"instructions\": \"…\"}, \
                \"artifacts\": {\"doc\": \"build.md\"}}}}`. Every phase is one that you report on; a plan with commands is \
                started by a person. The same plan again is the same run, as long as it is unfinished.",
        needs: Access::Report,
        arguments: &[must("plan", ArgumentKind::Object, "The plan, as an object.")],
        call: calls::start,
    },
    ToolEntry {
        name: "report_start",
        about: "Report that you begin a phase.",
        needs: Access::Report,
        arguments: &[PHASE, RUN, COMPLEXITY],
        call: calls::report_start,
    },
    ToolEntry {
        name: "report_progress",
        about: "Report progress on a phase. The note survives you: a later session is given it.",
        needs: Access::Report,
        arguments: &[
            PHASE,
            may("note", ArgumentKind::Text, "How far it is, and what comes next; `3/10` moves the bar."),
            RUN,
            COMPLEXITY,
        ],
        call: calls::report_progress,
    },
    ToolEntry {
        name: "report_done",
        about: "Report a phase as done. Verified before it is accepted: its artifacts must be there and its checks pass, else the \
                reason says what is missing and the phase stays open.",
        needs: Access::Report,
        arguments: &[
            PHASE,
            may("summary", ArgumentKind::Text, "What was done, in up to 50 words."),
            may("artifacts", ArgumentKind::Texts, "Files that were made, relative to the top of the project."),
            may("outputs", ArgumentKind::Values, "Values for later phases."),
            may("commit", ArgumentKind::Text, "The commit with the work."),
            may("remaining", ArgumentKind::Text, "What is left to do; the phase is not done while anything is."),
            RUN,
            COMPLEXITY,
        ],
        call: calls::report_done,
    },
    ToolEntry {
        name: "report_fail",
        about: "Report that a phase cannot be done. A person decides what follows.",
        needs: Access::Report,
        arguments: &[PHASE, must("reason", ArgumentKind::Text, "Why it cannot be done."), RUN, COMPLEXITY],
        call: calls::report_fail,
    },
    ToolEntry {
        name: "report_replan",
        about: "Ask for a revision of the plan, or supply one of reported phases only. It may wait for a person's approval.",
        needs: Access::Report,
        arguments: &[
            PHASE,
            must("reason", ArgumentKind::Text, "Why the plan does not fit."),
            may(
                "plan",
                ArgumentKind::Object,
                "The new plan, as for `start`; left out: the plan's own command makes one.",
            ),
            RUN,
        ],
        call: calls::report_replan,
    },
    ToolEntry {
        name: "checkpoint",
        about: "Take a checkpoint of a run now.",
        needs: Access::Report,
        arguments: &[
            may("name", ArgumentKind::Text, "A name by which it is found again; one with a name is never pruned."),
            RUN,
        ],
        call: calls::checkpoint,
    },
    ToolEntry {
        name: "state_merge",
        about: "Merge an object into the free-form state of a run (RFC 7396: null removes a key). It is part of every checkpoint.",
        needs: Access::Report,
        arguments: &[must("patch", ArgumentKind::Object, "What to merge."), RUN],
        call: calls::state_merge,
    },
    ToolEntry {
        name: "message_send",
        about: "Send a message to another agent of the run, or to all with `*`. The same id again is the same message.",
        needs: Access::Report,
        arguments: &[
            must("from", ArgumentKind::Text, "The agent that sends it."),
            must("to", ArgumentKind::Text, "The agent that it is for; `*` for all."),
            must("type", ArgumentKind::Text, "request, response, handoff, escalate, broadcast or vote."),
            must("body", ArgumentKind::Text, "What it says."),
            may("id", ArgumentKind::Text, "Its id; left out: a new one."),
            may("priority", ArgumentKind::Text, "critical, high, normal or low."),
            may("correlation", ArgumentKind::Text, "The id of the message that it answers."),
            RUN,
        ],
        call: share::message_send,
    },
    ToolEntry {
        name: "message_ack",
        about: "Acknowledge messages, so that they are not delivered again.",
        needs: Access::Report,
        arguments: &[
            must("ids", ArgumentKind::Texts, "Ids of the messages."),
            may("as", ArgumentKind::Text, "The agent that read them; left out: the one that each is for."),
            RUN,
        ],
        call: share::message_ack,
    },
    ToolEntry {
        name: "knowledge_add",
        about: "Keep what was learned for later phases and runs. The same id again changes nothing.",
        needs: Access::Report,
        arguments: &[
            must("id", ArgumentKind::Text, "Its id, such as KE-decision-20261114-a3f2."),
            must("type", ArgumentKind::Text, "decision, resolution, pattern, feedback or incident."),
            must("title", ArgumentKind::Text, "A title."),
            must("body", ArgumentKind::Text, "What was learned."),
            RUN,
        ],
        call: share::knowledge_add,
    },
    ToolEntry {
        name: "decision_add",
        about: "Note a decision that later sessions must know.",
        needs: Access::Report,
        arguments: &[
            must("text", ArgumentKind::Text, "The decision."),
            may("by", ArgumentKind::Text, "Who made it."),
            RUN,
        ],
        call: share::decision_add,
    },
];

/// The tools that a client with this access is offered.
pub(super) fn offered(access: Access) -> impl Iterator<Item = &'static ToolEntry> {
    TOOLS.iter().filter(move |tool| tool.needs == Access::Look || access == Access::Report)
}

impl ToolEntry {
    /// As clients are told of it. None deletes anything or reaches beyond the project.
    pub(super) fn described(&self) -> Tool {
        let looks = self.needs == Access::Look;
        let hints = ToolAnnotations::new().read_only(looks).destructive(false).idempotent(looks).open_world(false);
        Tool::new(self.name, self.about, schema(self.arguments)).with_annotations(hints)
    }
}
