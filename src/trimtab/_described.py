"""What routers and planners say about themselves, for everybody who has to choose among them."""

from __future__ import annotations

from typing import Any, ClassVar, TypeVar

from trimtab._parameters import Parameter

T = TypeVar("T")

NOT_SAID = 1000
"""The complexity of a class that does not say how simple it is: after all that do."""


class Described:
    """Facts about a partitioner, as class attributes.

    The advisor, the command line, the documentation, the operators on Spark and the contract suites
    read them from here. Nothing is known of a partitioner by its name.
    """

    name: ClassVar[str]
    """The registry's name."""
    paper: ClassVar[str]
    """Where the algorithm is from, in a few words."""
    splits_keys: bool
    """Whether one key may be on several lanes at once; an instance may know better than its class,
    where a parameter decides."""

    takes: ClassVar[tuple[Parameter[Any], ...]]
    """The constructor's parameters, in its order."""

    cost: ClassVar[str] = ""
    """What deciding takes, in a short phrase."""
    state_in_words: ClassVar[str] = ""
    """What is remembered from one decision to the next, in a short phrase."""
    use_when: ClassVar[str] = ""
    """The situation that it is the answer to, in a short phrase."""

    complexity: ClassVar[int] = NOT_SAID
    """Its rank where several are equally good: the lower one is recommended.

    From 0 on, nothing is counted; from 100 on, a table is made from counts, the shorter first; from
    200 on, there is a counter per lane; from 300 on, keys are remembered; from 400 on, rules are
    learned. The ranks in between are free for others; those that share a rank go by their names.
    """
    is_plain_hashing: ClassVar[bool] = False
    """Whether it does what Spark does by itself: the measure of all others. Where an aggregate can
    be combined before the shuffle, Spark then does so."""
    prediction_note: ClassVar[str] = ""
    """What to say where the advisor predicts it, if the prediction is off in a known direction."""

    lanes: int

    @classmethod
    def example_parameters(cls) -> tuple[dict[str, Any], ...]:
        """Return sets of parameters that the contract suite should try beside the defaults."""
        return ()

    @classmethod
    def takes_parameter(cls, name: str) -> bool:
        """Return whether the constructor has a parameter of that name."""
        return any(parameter.name == name for parameter in cls.takes)

    def _check(self, parameter: Parameter[T], value: object) -> T:
        """Return a constructor's argument as its declaration allows it; `lanes` must be set."""
        return parameter.allowed.check(parameter.name, value, self.lanes)
