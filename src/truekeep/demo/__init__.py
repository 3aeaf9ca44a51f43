"""The demo story: three weeks of an assistant's memory, written as data and played through the public API."""

from truekeep.demo.player import Played, play
from truekeep.demo.script import Script, read_script

__all__ = ["Played", "Script", "play", "read_script"]
