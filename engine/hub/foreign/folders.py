"""All programs whose models we find. Neighbours: a module for each of them, `engine.hub.library`."""

from collections.abc import Callable, Iterator
from pathlib import Path

from engine.hub.foreign import gpt4all, hf_cache, jan, llama_cpp, lm_studio, ollama
from engine.hub.foreign.found import FoundModel
from engine.hub.foreign.places import Places
from engine.hub.scan import Survey, Watch

Find = Callable[[Survey, Path], Iterator[FoundModel]]


class ForeignFolders:
    """Models that other programs keep on this machine, and our own downloads."""

    def __init__(self, places: Places, hub_folder: Path | None = None) -> None:
        """Look at nothing yet.

        Args:
            places: where to look.
            hub_folder: where our downloads go, laid out as the Hugging Face cache; None: that cache itself.
        """
        self._places = places
        self._hub_folder = hub_folder
        self._watch = Watch()

    def models(self) -> list[FoundModel]:
        """What lies there now; a folder is looked at anew only where it changed. Never raises for what lies there."""
        candidates = self._watch.get("folders", lambda survey: list(self._candidates(survey)))
        return [
            model for find, folder in dict.fromkeys(candidates) for model in self._in(find, folder)
        ]

    def _in(self, find: Find, folder: Path) -> list[FoundModel]:
        return self._watch.get((find, folder), lambda survey: list(find(survey, folder)))

    def _candidates(self, survey: Survey) -> Iterator[tuple[Find, Path]]:
        places = self._places
        if self._hub_folder:
            yield hf_cache.find, self._hub_folder
        yield from ((hf_cache.find, folder) for folder in hf_cache.folders(places))
        yield from ((lm_studio.find, folder) for folder in lm_studio.folders(places, survey))
        yield from ((ollama.find, folder) for folder in ollama.folders(places))
        yield from ((jan.find, folder) for folder in jan.folders(places, survey))
        yield from ((gpt4all.find, folder) for folder in gpt4all.folders(places, survey))
        yield from ((llama_cpp.find, folder) for folder in llama_cpp.folders(places))
