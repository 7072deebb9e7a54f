"""Providers of a plan: instances, names, rollback, and the app's say in it."""

from typing import Any

from facts import Facts, Named, async_message, entries, failing, mounting, plan, session_of, trace


def _provider(name: str) -> Any:
    return mounting("providers", lambda: Named(name))


async def _nothing(coordinator: Any, config: Facts) -> None:
    return None


async def _started(providers: Any, modules: Facts, **capabilities: Any) -> Facts:
    session = session_of(plan(providers=providers), modules)
    for name, value in capabilities.items():
        session.coordinator.register_capability(name.replace("__", "."), value)
    heard = trace(session)
    error = await async_message(session.initialize)
    mounted = session.coordinator.get("providers")
    return {
        "error": error or None,
        "names": list(mounted),
        "objects": {name: module.name for name, module in mounted.items()},
        "events": heard,
    }


async def one_provider() -> Facts:
    return await _started(entries("provider-acme"), {"provider-acme": _provider("acme")})


async def a_provider_that_fails() -> Facts:
    return await _started(
        entries("provider-bad", "provider-acme"),
        {"provider-bad": failing(ValueError("boom")), "provider-acme": _provider("acme")},
    )


async def instances_of_one_provider() -> Facts:
    providers = [
        {"module": "provider-acme"},
        {"module": "provider-acme", "instance_id": "second"},
        {"module": "provider-acme", "instance_id": "third"},
    ]
    return await _started(providers, {"provider-acme": _provider("acme")})


async def only_named_instances() -> Facts:
    providers = [
        {"module": "provider-acme", "instance_id": "one"},
        {"module": "provider-acme", "instance_id": "two"},
    ]
    return await _started(providers, {"provider-acme": _provider("acme")})


async def an_instance_with_the_default_name() -> Facts:
    providers = [{"module": "provider-acme", "instance_id": "acme"}]
    return await _started(providers, {"provider-acme": _provider("acme")})


async def instances_without_a_name() -> Facts:
    return {
        "error": (
            await _started(
                entries("provider-acme", "provider-acme"), {"provider-acme": _provider("acme")}
            )
        )["error"]
    }


async def an_instance_under_another_name() -> Facts:
    providers = [{"module": "provider-acme", "instance_id": "one"}]
    return await _started(providers, {"provider-acme": _provider("somebody")})


async def a_provider_that_mounts_nothing() -> Facts:
    facts = await _started(entries("provider-acme"), {"provider-acme": _nothing})
    return {"names": facts["names"], "error": facts["error"], "events": facts["events"]}


async def a_failed_provider_is_rolled_back() -> Facts:
    async def half(coordinator: Any, config: Facts) -> None:
        await coordinator.mount("providers", Named("half"))
        await coordinator.mount("providers", Named("replacement"), name="acme")
        raise ValueError("boom")

    modules = {
        "provider-acme": _provider("acme"),
        "provider-half": half,
        "provider-last": _provider("last"),
    }
    return await _started(entries("provider-acme", "provider-half", "provider-last"), modules)


async def a_failed_instance_is_rolled_back() -> Facts:
    broken: list[int] = []

    async def once(coordinator: Any, config: Facts) -> None:
        await coordinator.mount("providers", Named(f"acme {len(broken)}"), name="acme")
        broken.append(1)
        if len(broken) == 2:
            raise ValueError("boom")

    providers = [
        {"module": "provider-acme"},
        {"module": "provider-acme", "instance_id": "second"},
        {"module": "provider-acme", "instance_id": "third"},
    ]
    return await _started(providers, {"provider-acme": once})


async def the_app_is_asked_before_a_provider_is_loaded() -> Facts:
    asked: list[Any] = []

    async def before(coordinator: Any, entry: Facts) -> None:
        asked.append(dict(entry))
        entry["module"] = "changed"

    facts = await _started(
        [{"module": "provider-acme", "config": {"a": 1}}],
        {"provider-acme": _provider("acme")},
        provider__before_load=before,
    )
    return {**facts, "asked": asked}


async def the_app_may_refuse_a_provider() -> Facts:
    async def before(coordinator: Any, entry: Facts) -> None:
        raise PermissionError("not this one")

    return await _started(
        entries("provider-acme"), {"provider-acme": _provider("acme")}, provider__before_load=before
    )


async def the_app_is_told_of_failures() -> Facts:
    told: list[Any] = []

    async def failed(coordinator: Any, entry: Facts, error: Exception) -> None:
        told.append([entry, error])

    facts = await _started(
        [{"module": "provider-bad", "instance_id": "x"}],
        {"provider-bad": failing(ValueError("boom"))},
        provider__load_failure=failed,
    )
    return {**facts, "told": told}


async def the_app_may_end_the_start() -> Facts:
    async def failed(coordinator: Any, entry: Facts, error: Exception) -> None:
        raise LookupError("no provider, no session")

    return await _started(
        entries("provider-bad"),
        {"provider-bad": failing(ValueError("boom"))},
        provider__load_failure=failed,
    )


async def a_name_instead_of_an_instance_id() -> Facts:
    providers = [{"module": "provider-acme", "name": "mine"}]
    return {"names": (await _started(providers, {"provider-acme": _provider("acme")}))["names"]}
