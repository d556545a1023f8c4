import httpx2

from tests.helpers.in_process import with_app
from tests.helpers.scripted_engine import ScriptedEngine


def test_health_is_open_and_private() -> None:
    async def test(http: httpx2.AsyncClient, _: ScriptedEngine) -> None:
        response = await http.get("/health")
        assert (response.status_code, response.json()) == (200, {"status": "ok"})
        assert (await http.head("/health")).status_code == 200

    with_app(test, api_keys=("k",))


def test_load_and_unload() -> None:
    async def test(http: httpx2.AsyncClient, _: ScriptedEngine) -> None:
        loaded = await http.post("/api/models/load", json={"model": "tiny"})
        assert loaded.json()["state"] == "ready"
        models = (await http.get("/api/models")).json()["models"]
        assert [(m["id"], m["state"]) for m in models] == [
            ("org/big.gguf", "unloaded"),
            ("tiny", "ready"),
        ]
        unloaded = await http.post("/api/models/unload", json={"model": "tiny"})
        assert unloaded.json()["state"] == "unloaded"
        for path in ("/api/models/load", "/api/models/unload"):
            assert (await http.post(path, json={"model": "no"})).status_code == 404
            for body in ({}, {"model": ""}, {"model": 5}, []):
                response = await http.post(path, json=body)
                assert response.status_code == 400

    with_app(test)


def test_machine_plan_and_version() -> None:
    async def test(http: httpx2.AsyncClient, _: ScriptedEngine) -> None:
        assert (await http.get("/api/hardware")).json()["cores"] == 2
        plan = await http.get("/api/plan", params={"model": "org/big.gguf"})
        assert plan.json()["model"] == "org/big.gguf"
        assert (await http.get("/api/plan")).status_code == 400
        assert (await http.get("/api/plan?model=no")).status_code == 404
        version = (await http.get("/api/version")).json()
        assert version == {"name": "inglenook", "version": "3"}

    with_app(test, version="3")


def test_wrong_addresses_and_methods_have_the_error_shape() -> None:
    async def test(http: httpx2.AsyncClient, _: ScriptedEngine) -> None:
        for path in ("/", "/v1", "/v2/models", "//v1/models", "/v1/Models", "/health/"):
            response = await http.get(path)
            assert (response.status_code, response.json()["error"]["code"]) == (404, "not_found")
        for method, path in (("DELETE", "/v1/models"), ("GET", "/v1/chat/completions")):
            response = await http.request(method, path)
            assert response.status_code == 405
            assert response.json()["error"]["code"] == "method_not_allowed"
            assert response.headers["allow"]
        assert (await http.options("/v1/models")).status_code == 405

    with_app(test)
