"""What a server answers, against the types of an official client for Python."""

from pydantic import BaseModel, TypeAdapter


class ClientTypes:
    """A client's types, by pydantic's strict rules: no field has another type, none is there that they do not
    have, and none is missing.

    `additions` are fields that a server has beyond a type's own, `demanded` those that must be there though they
    may be null, by the type's name.
    """

    def __init__(self, additions=None, demanded=None):
        self.additions = additions or {}
        self.demanded = demanded or {}

    def checked(self, kind, text):
        """JSON as one of the types."""
        value = TypeAdapter(kind).validate_json(text, strict=True)
        self._check_fields(value)
        return value

    def _check_fields(self, value):
        """No field too many, and none that is demanded missing, however deep."""
        if isinstance(value, BaseModel):
            name = type(value).__name__
            own = value.model_fields_set - set(value.model_extra or {})
            extra = set(value.model_extra or {}) - self.additions.get(name, set())
            assert not extra, f"{name} has the fields {extra}"
            missing = self.demanded.get(name, set()) - value.model_fields_set
            assert not missing, f"{name} has no {missing}"
            for field in own:
                self._check_fields(getattr(value, field))
        elif isinstance(value, (list, tuple)):
            for one in value:
                self._check_fields(one)


def check_refused(ask, body, kind):
    """The error that the client throws, which must be of its kind, when it asks for what is refused."""
    try:
        ask(**body)
    except kind as error:
        return error
    raise AssertionError(f"{body} was answered")
