"""The published red-team report: what ``truekeep redteam`` measures, on more encoders and beside other defences."""
