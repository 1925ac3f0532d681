"""What a call does, as far as its words tell: the effects that guards judge."""
