"""Online partitioners, one file each; `base` is the contract, `router` the way in."""

from __future__ import annotations

from typing import Any, cast

from trimtab import _registry
from trimtab.routers.base import Router

ROUTERS: dict[str, str] = {
    "hash": "trimtab.routers.hash:HashRouter",
    "shuffle": "trimtab.routers.shuffle:ShuffleRouter",
    "time": "trimtab.routers.time:TimeRouter",
    "potc": "trimtab.routers.potc:PotcRouter",
    "pkg": "trimtab.routers.pkg:PkgRouter",
    "cm": "trimtab.routers.cm:CmRouter",
    "am": "trimtab.routers.am:AmRouter",
    "cam": "trimtab.routers.cam:CamRouter",
    "lm": "trimtab.routers.lm:LmRouter",
    "ch": "trimtab.routers.ch:ChRouter",
    "bounded-ch": "trimtab.routers.bounded_ch:BoundedChRouter",
    "porc": "trimtab.routers.porc:PorcRouter",
    "cg": "trimtab.routers.cg:CgRouter",
    "dagreedy": "trimtab.routers.dagreedy:DAGreedyRouter",
    "dalton": "trimtab.routers.dalton:DaltonRouter",
    "d-choices": "trimtab.routers.d_choices:DChoicesRouter",
    "w-choices": "trimtab.routers.w_choices:WChoicesRouter",
    "fish": "trimtab.routers.fish:FishRouter",
    "flexsp": "trimtab.routers.flexsp:FlexSpRouter",
    "trim": "trimtab.routers.trim:TrimRouter",
}


def router_class(name: str) -> type[Router]:
    """Return the class of the router called `name`."""
    return cast(type[Router], _registry.load("router", ROUTERS, name))


def router(name: str = "trim", **parameters: Any) -> Router:
    """Make the router called `name`.

    >>> import numpy as np
    >>> r = router("pkg", lanes=4, seed=7)
    >>> r.route(np.arange(8, dtype=np.uint64)).size
    8
    """
    cls = router_class(name)
    return cast(Router, _registry.build("router", cls, name, parameters))


__all__ = ["ROUTERS", "Router", "router", "router_class"]
