"""Times pyatr in its own environment: reads a JSON list of texts on standard input, writes CPU seconds for each."""

from __future__ import annotations

import json
import sys
import time


def main() -> None:
    from pyatr import AgentEvent, ATREngine  # type: ignore[import-not-found]

    rules, texts = sys.argv[1], json.load(sys.stdin)
    engine = ATREngine()
    engine.load_rules_from_directory(rules)
    seconds = []
    for text in texts:
        event = AgentEvent(content=text, event_type="llm_input", fields={"user_input": text})
        began = time.process_time()
        engine.evaluate(event)
        seconds.append(time.process_time() - began)
    json.dump(seconds, sys.stdout)


if __name__ == "__main__":
    main()
