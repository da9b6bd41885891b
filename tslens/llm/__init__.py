"""Ask a large model many questions with structured answers: what it costs, what it cost, and nothing asked twice.

Needs the extra: pip install 'tslens[grader]'. The key comes from ANTHROPIC_API_KEY alone.
"""

from tslens.llm.asking import ask, cached
from tslens.llm.budget import Budget
from tslens.llm.estimates import CostEstimate, estimate
from tslens.llm.prices import Price, price_of
from tslens.llm.requests import Outcome, Request, Settings

__all__ = ["Budget", "CostEstimate", "Outcome", "Price", "Request", "Settings", "ask", "cached", "estimate", "price_of"]
