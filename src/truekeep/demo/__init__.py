"""The demo story: three weeks of an assistant's memory, written as data and played through the public API."""

from truekeep.demo.player import StoryPlayed, play
from truekeep.demo.script import Script, read_script

__all__ = ["Script", "StoryPlayed", "play", "read_script"]
