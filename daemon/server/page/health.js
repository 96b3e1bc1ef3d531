// Health: progress, failures, models, who is connected, and what the last hour cost.
//
// In: `status`, again every few seconds while the page is seen. Out: the page.
import { act, call, h, n, place } from "./base.js";

const EVERY_MS = 3000;

export async function healthPage({ signal, title }) {
  title("Health");
  const body = h("div", {});
  // Whether every path that is not read is named.
  let isWhole = false;
  const toggle = () => {
    isWhole = !isWhole;
    draw().catch(() => {});
  };
  const draw = async () =>
    body.replaceChildren(
      ...parts(await call("status", isWhole ? { not_read: true } : {}, signal), draw, toggle)
        .flat(2)
        .filter((it) => it !== undefined),
    );
  await draw();
  const timer = setInterval(() => {
    const isUsed = body.contains(document.activeElement);
    if (!document.hidden && !isUsed) draw().catch(() => {});
  }, EVERY_MS);
  signal.addEventListener("abort", () => clearInterval(timer));
  return { content: [h("h1", {}, "Health"), body] };
}

const rows = (title, all) =>
  h(
    "section",
    {},
    h("h2", {}, title),
    h(
      "table",
      { class: "facts" },
      h(
        "tbody",
        {},
        all
          .filter(([, value]) => value !== undefined && value !== "")
          .map(([name, value]) => h("tr", {}, h("th", { scope: "row" }, name), h("td", {}, value))),
      ),
    ),
  );

function parts(it, draw, toggle) {
  const { known, indexed } = it.progress;
  const flags = Object.entries(it.stages_settled)
    .map(([name, is]) => `${name}${is ? "" : ": not yet"}`)
    .join(", ");
  const trouble = [it.stalled?.why, it.writes_refused?.why, it.last_error].filter((one) => one !== undefined);
  return [
    trouble.map((one) => h("p", { class: "failed", role: "alert" }, one)),
    h(
      "section",
      {},
      h("h2", {}, "Progress"),
      h(
        "p",
        {},
        h("progress", { max: String(Math.max(1, known)), value: String(indexed), "aria-label": "Files indexed" }),
        ` ${indexed.toLocaleString("en")} of ${n(known, "file")} indexed`,
      ),
      h("p", { class: "faint" }, flags),
    ),
    failures(it, draw),
    notRead(it.survey, toggle),
    rows(
      "Queues",
      it.queues.map((queue) => [queue.stage, `${queue.interactive} just saved, ${queue.bulk} others`]),
    ),
    rows("Models", [
      [
        "embedding",
        it.embedding
          ? `${it.embedding.model}: ${it.embedding.done} of ${it.embedding.total} (${it.embedding.state})`
          : "static vectors",
      ],
      ["deep pass", it.deep ? `${it.deep.left} documents left` : undefined],
      ...(it.llm ?? []).map((one) => [one.slot, `${one.model} (${one.state})`]),
    ]),
    rows("The last hour", [
      [
        "calls of language models",
        (it.llm ?? [])
          .map(
            (one) => `${one.slot}: ${one.calls_last_hour} of ${one.max_calls_per_hour}, ${n(one.failures, "failure")}`,
          )
          .join("; ") || "none configured",
      ],
      ["indexed", `${it.ingest_rate.toFixed(1)} documents a second lately`],
      ["mean commit", `${it.average_transaction_ms.toFixed(1)} ms`],
    ]),
    rows("Who is connected", [
      ["clients", String(it.clients)],
      ["MCP over HTTP", it.http ?? "off"],
      ["watching", it.watcher],
    ]),
    rows(
      "Contents",
      Object.entries(it.counts).map(([name, count]) => [name, count.toLocaleString("en")]),
    ),
    rows("Daemon", [
      ["version", it.version],
      ["since", it.started_at],
      ["process", String(it.pid)],
      ["folder", it.root],
      [
        "redacted",
        Object.entries(it.redacted ?? {})
          .map(([name, count]) => `${name} ${count}`)
          .join(", ") || "nothing",
      ],
    ]),
    warnings(it.warnings),
  ];
}

function failures(it, draw) {
  if (it.quarantine.length === 0) return h("section", {}, h("h2", {}, "Failures"), h("p", { class: "faint" }, "none"));
  const retry = async (paths) => {
    const done = await act(
      () => call("retry", { paths }),
      (reply) => reply.files.map((one) => `${one.path}: ${one.outcome}`).join(", "),
    );
    if (done !== undefined) draw();
  };
  return h(
    "section",
    {},
    h("h2", {}, n(it.counts.quarantine ?? it.quarantine.length, "failure")),
    h("button", { type: "button", onclick: () => retry(undefined) }, "Retry all"),
    h(
      "ul",
      { class: "short" },
      it.quarantine.map((one) =>
        h(
          "li",
          { "data-step": true },
          h("strong", {}, one.path),
          ` ${one.stage}: ${one.reason} `,
          h("button", { type: "button", "aria-label": `Retry ${one.path}`, onclick: () => retry([one.path]) }, "Retry"),
        ),
      ),
    ),
  );
}

function notRead(survey, toggle) {
  if (survey === undefined || survey.not_read.length === 0) return undefined;
  const total = survey.not_read.reduce((sum, one) => sum + one.count, 0);
  const named = (one) => {
    const left = one.count - one.paths.length;
    return left > 0 ? [...one.paths, `${left} more`] : one.paths;
  };
  return h(
    "section",
    {},
    h("h2", {}, `${n(total, "path")} not read`),
    h(
      "ul",
      { class: "short" },
      survey.not_read.map((one) =>
        h(
          "li",
          {},
          h("strong", {}, `${one.count} ${one.reason}${one.by === undefined ? "" : `: ${one.by}`}`),
          ` ${named(one).join(", ")} `,
          one.hint === undefined ? "" : h("span", { class: "faint" }, one.hint),
        ),
      ),
    ),
    h("button", { type: "button", onclick: toggle }, "Name all, or a few"),
  );
}

function warnings(all) {
  if (all.length === 0) return undefined;
  return h(
    "section",
    {},
    h("h2", {}, n(all.length, "warning")),
    h(
      "ul",
      { class: "short" },
      all.map((one) => h("li", {}, place({ path: one.path }), ` ${one.warning}`)),
    ),
  );
}
