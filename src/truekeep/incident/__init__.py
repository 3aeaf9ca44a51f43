"""The incident kit: where a memory came from and what it touched, and how to take a source or a time back."""

from truekeep.incident.kit import IncidentKit
from truekeep.incident.records import Incident
from truekeep.incident.report import Report, Section
from truekeep.incident.source import Source

__all__ = ["Incident", "IncidentKit", "Report", "Section", "Source"]
