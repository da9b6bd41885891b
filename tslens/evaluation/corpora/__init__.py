"""What is in a corpus of stories: duplicates, words, lengths, features, parts of speech, faults, overlap."""

from tslens.evaluation.corpora.auditing import audit
from tslens.evaluation.corpora.result import CorpusAuditResult

__all__ = ["CorpusAuditResult", "audit"]
