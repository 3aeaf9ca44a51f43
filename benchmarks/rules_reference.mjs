// Runs the reference engine over the rule set's own cases: node rules_reference.mjs PACKAGE RULES OUT
import { readFileSync, writeFileSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const [pkg, rulesDir, out] = process.argv.slice(2);
const { ATREngine } = await import(join(pkg, "dist/engine.js"));
const { loadRulesFromDirectory } = await import(join(pkg, "dist/loader.js"));
// The package builds a case's event in its command line; that function is taken from there as it is.
const cli = readFileSync(join(pkg, "dist/cli.js"), "utf8");
const body = cli.slice(cli.indexOf("function buildEventFromTestCase"), cli.indexOf("// --- STATS command ---"));
const buildEvent = new Function(`return (${body})`)();
const base = { context_window: "llm_io", memory_access: "llm_io", skill_lifecycle: "tool_call" };
const empty = mkdtempSync(join(tmpdir(), "no-rules-"));
const results = [];
for (const rule of loadRulesFromDirectory(rulesDir)) {
  const source = rule.agent_source.type;
  const live = { ...rule, status: "experimental", agent_source: { ...rule.agent_source, type: base[source] ?? source } };
  const engine = new ATREngine({ rules: [live], rulesDir: empty });
  await engine.loadRules();
  const fires = (tc) => {
    const hit = (matches) => matches.some((m) => m.rule.id === rule.id);
    if (hit(engine.evaluate(buildEvent(tc, rule)))) return true;
    const text = String(tc.input ?? tc.tool_response ?? tc.agent_output ?? "");
    return text !== "" && hit(engine.scanSkill(text));
  };
  const cases = rule.test_cases ?? {};
  const groups = {
    true_positive: cases.true_positives ?? [],
    true_negative: cases.true_negatives ?? [],
    evasion: [...(cases.evasion_tests ?? []), ...(rule.evasion_tests ?? [])],
  };
  for (const [group, list] of Object.entries(groups))
    list.forEach((tc, at) => {
      const wanted = group === "true_positive" || (group === "evasion" && /^trigger/.test(tc.expected));
      results.push([rule.id, group, at, wanted, fires(tc)]);
    });
}
writeFileSync(out, JSON.stringify(results));
