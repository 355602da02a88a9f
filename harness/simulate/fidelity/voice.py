"""Whether a message that should be a user's is an assistant's: it offers help, acts, or carries a role's label."""

import re
from typing import Final

_LABEL: Final = re.compile(
    r"^(?:\*\*|\[|<)?\s{0,9}(?:assistant|agent|ai|bot|customer (?:service|support)|representative|"
    r"assistent(?:in)?|kundendienst|asistente|agente)"
    r"\s{0,9}(?:\*\*|\]|>)?\s{0,9}:",
    re.IGNORECASE,
)
_OFFERS_HELP: Final = re.compile(
    r"\bhow (?:can|may) i (?:help|assist)(?: you)?\b|\b(?:can|may) i (?:help|assist) you\b|"
    r"\bis there (?:any|some)thing else i can (?!provide|give|show|tell|try|use|send)\b|"
    r"\banything else i can (?:help|assist|do for) you\b|"
    r"\bi(?:'d| would| will|'ll| can| am|'m)(?: be)? (?:be )?(?:happy|glad|here) to (?:help|assist) you\b|"
    r"\bi(?:'m| am) (?:here|ready) to (?:help|assist)\b|"
    r"\bi can (?:help|assist) you with\b|\blet me know if there'?s (?:any|some)thing else i can\b|"
    r"\bwhat (?:would|can|do) you (?:like|want) to (?:order|book|buy|know)\b|\byour \w+(?: \w+)? is coming right up\b|"
    r"\bwould you like anything else(?: with that)?\?|\bwhat can i get (?:for )?you\b|"
    r"\bas an ai\b|\bas your (?:assistant|agent|support)\b|\bthank you for (?:contacting|calling|reaching out|"
    r"choosing|shopping)\b|"
    r"\b(?:wie|womit) kann ich (?:ihnen|dir) (?:heute )?(?:weiter)?helfen\b|\bkann ich (?:ihnen|dir) (?:sonst )?noch\b|"
    r"\ben qu\u00e9 (?:puedo|podemos) ayudar(?:le|te|lo|la)\b|\bpuedo ayudar(?:le|te) en algo m\u00e1s\b|"
    r"\bfor (?:your )?(?:security|verification) purposes?,? (?:please|i need|could you)\b",
    re.IGNORECASE,
)
_ACTS: Final = re.compile(
    r"\bi(?:'ve| have)(?: now| just| successfully| already)* (?:processed|cancelled|canceled|booked|updated|"
    r"refunded|issued|added|"
    r"placed|removed|modified|changed|submitted|verified|located|found|checked|initiated|completed|exchanged|"
    r"transferred|returned) "
    r"(?:your\b(?! (?:email|website|app\b|steps|instructions|suggestion|link|message))|"
    r"(?:the|it|them|all|both|a|an|this)\b[^.?!]{0,40}\bfor you\b)|"
    r"\byour (?:order|refund|reservation|request|booking|flight|cart|return|exchange|account|payment|"
    r"cancellation)\b[^.?!]{0,60}"
    r"\b(?:has been|have been|was|were|is now|will be) (?:\w+ly )?(?:processed|cancelled|canceled|booked|updated|"
    r"refunded|issued|added|"
    r"placed|removed|modified|changed|submitted|confirmed|verified|completed|exchanged|credited|shipped)\b|"
    r"\b(?:i'll|i will|let me) (?:go ahead and )?(?:process|cancel|book|update|check|look up|verify|transfer|pull "
    r"up|issue|look into|"
    r"arrange|submit|initiate) (?:your|that for you|this for you|it for you|you\b)",
    re.IGNORECASE,
)
_ACTS_OTHERWISE: Final = re.compile(
    r"\b(?:ihre?|deine?) (?:bestellung|buchung|reservierung|stornierung|erstattung|flug|anfrage)\b[^.?!]{0,60}"
    r"\b(?:wurde|ist)\b[^.?!]{0,30}\b(?:storniert|gebucht|bearbeitet|ge\u00e4ndert|aktualisiert|best\u00e4tigt|"
    r"erstattet)\b|"
    r"\bich habe (?:ihre?n?|deine?n?|f\u00fcr (?:sie|dich))\b[^.?!]{0,60}"
    r"\b(?:storniert|gebucht|bearbeitet|ge\u00e4ndert|aktualisiert|best\u00e4tigt|erstattet|bestellt|gefunden)\b|"
    r"\bhe (?:cancelado|reservado|procesado|cambiado|actualizado|confirmado|reembolsado|encontrado) (?:su|tu)\b|"
    r"\b(?:su|tu) (?:pedido|reserva|reembolso|vuelo|solicitud)\b[^.?!]{0,40}\bha sido "
    r"(?:cancelad|reservad|procesad|cambiad|actualizad|confirmad|reembolsad)[oa]\b",
    re.IGNORECASE,
)
"""The same in German and Spanish."""
_TOOLISH: Final = re.compile(
    r"<tool_call>|<function|\"(?:tool_calls?|function_call|arguments)\"\s*:|^[ \t]*\{\s*\"name\"\s*:|"
    r"```(?:json|tool|python)|\b(?:functions?|tools?)\.[a-z_]+\(|^[ \t]*[a-z]+(?:_[a-z]+)+\([^)\n]{0,2000}\)[ \t]*$",
    re.IGNORECASE | re.MULTILINE,
)


def agents_voice(message: str) -> str | None:
    """The words in which a message speaks as an assistant; None where it does not."""
    text = message.strip()[:8000].replace("\u2019", "'")
    for pattern in (_LABEL, _OFFERS_HELP, _ACTS, _ACTS_OTHERWISE):
        found = pattern.search(text)
        if found is not None:
            return found[0].strip()
    return None


def tool_call_in(message: str) -> str | None:
    """A tool call that is written as text; None where there is none."""
    found = _TOOLISH.search(message[:8000])
    return None if found is None else found[0].strip()
