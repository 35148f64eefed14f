"""`Model` and `RegisteredModel` of the PAI SDK, for the registry of models. Models are not deployed from here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ..client.job import JobHandle
from ..client.parameters import offered
from ..core.errors import BadInput, NotFound, Unsupported
from ..core.i18n import N_, _
from ..jobs.model_uris import ModelUri
from .absent import absent_names
from .common.consts import StoragePathCategory
from .options import non_empty
from .oss_utils import download, is_oss_uri, upload
from .session import BACKEND, Session, default_session, target_of
from .target import Target, absolute

__all__ = ["Model", "ModelBase", "NoModelData", "NoSuchModel", "RegisteredModel"]

_DEPLOY = N_("Deploy the model in the PAI console, or by the PAI SDK: pass it the URI of Model.model_data.")
_SPEC = N_("Pass the specification of a service as a dict: Estimator.create_model({'processor': 'xgboost'})")
_ABSENT = {
    "InferenceSpec": _SPEC,
    "ModelFormat": N_("The format of a model is a text: Model.register(…, format_type='XGBoost')"),
    "ModelRecipe": N_("Submit its training as a job: Estimator(…).fit(), or AlgorithmEstimator(…).fit()"),
    "ModelRecipeType": N_("Submit its training as a job: Estimator(…).fit(), or AlgorithmEstimator(…).fit()"),
    "ModelTrainingRecipe": N_("Submit its training as a job: Estimator(…).fit(), or AlgorithmEstimator(…).fit()"),
    "NfsStorageConfig": _SPEC,
    "NodeStorageConfig": _SPEC,
    "OssStorageConfig": _SPEC,
    "RawStorageConfig": _SPEC,
    "ResourceConfig": _SPEC,
    "SharedMemoryConfig": _SPEC,
    "StorageConfigBase": _SPEC,
    "container_serving_spec": _SPEC,
}


class NoModelData(BadInput, ValueError):
    """A model without files."""


class NoSuchModel(NotFound, RuntimeError):
    """A model or a version that the registry does not have."""


class ModelBase:
    """The files of a model: a URI, or a path of this machine. `inference_spec` is a dict in the form of the service
    that deploys models; it is registered with the model."""

    def __init__(
        self,
        model_data: str,
        inference_spec: Mapping[str, Any] | None = None,
        session: Session | None = None,
        *,
        job: JobHandle | None = None,
    ) -> None:
        self.model_data = model_data
        self.inference_spec = inference_spec
        self.session = session
        # The job that wrote the files, if its platform can register them.
        self._job = job

    def register(
        self,
        model_name: str,
        version: str | None = None,
        accessibility: str | None = None,
        version_labels: Mapping[str, str] | None = None,
        version_description: str | None = None,
        format_type: str | None = None,
        framework_type: str | None = None,
        training_spec: Mapping[str, Any] | None = None,
        evaluation_spec: Mapping[str, Any] | None = None,
        approval_status: str | None = None,
        metrics: Mapping[str, float] | None = None,
        options: str | None = None,
        model_labels: Mapping[str, str] | None = None,
        model_description: str | None = None,
        model_doc: str | None = None,
        origin: str | None = None,
        domain: str | None = None,
        task: str | None = None,
    ) -> RegisteredModel:
        """Register the files as a version of a model, and return it. A new name creates a model. The model of a job is
        registered with its training: the job, its hyperparameters and its metrics. A path of this machine is uploaded
        to the bucket of the session first.

        Raises:
            NoModelData: without files. A `ValueError` too.
            Conflict: if the version exists, or the job has not ended.
            SpecError: naming an invalid field.
        """
        if not self.model_data:
            raise NoModelData(_("The model has no files to register."), fix=_("Pass them: Model(model_data='oss://…')"))
        further = {
            "accessibility": accessibility,
            "framework_type": framework_type,
            "training_spec": training_spec,
            "evaluation_spec": evaluation_spec,
            "inference_spec": self.inference_spec,
            "options": options,
            "model_labels": model_labels,
            "model_description": model_description,
            "model_doc": model_doc,
            "origin": origin,
            "domain": domain,
            "task": task,
        }
        fields = {
            "model": model_name,
            "version": version,
            "labels": version_labels,
            "description": version_description,
            "format": format_type,
            # The reference of the SDK has it in capitals, and the platform does not.
            "approval": approval_status and approval_status.capitalize(),
            "metrics": metrics,
            "options": non_empty(further),
        }
        target = self._target()
        place = self._place(target)
        reply = target.client.call("register_model", body={**non_empty(fields), **place})
        return RegisteredModel._of(reply["version"], self.session)

    def _target(self) -> Target:
        return target_of(self.session)

    def _place(self, target: Target) -> dict[str, str]:
        """Return the fields of a registration that name its files and its registry."""
        if self._job:
            return {"job": self._job.id}
        registry = {"profile": target.profile} if target.profile else {"backend": BACKEND}
        if "://" not in self.model_data:
            session = self.session or default_session()
            folder = session.get_storage_path_by_category(StoragePathCategory.ModelData)
            self.model_data = upload(absolute(self.model_data), f"oss://{session.oss_bucket_name}/{folder}")
        return {"uri": self.model_data, **registry}

    def download(self, target_dir: str | Path) -> str:
        """Copy the files into a folder of this machine, and return it.

        Raises:
            NoModelData: without files. A `ValueError` too.
            Unsupported: if they are not in OSS.
        """
        if not self.model_data:
            raise NoModelData(_("The model has no files."))
        if not is_oss_uri(self.model_data):
            raise Unsupported(_("The files of the model are not in OSS: {uri}").format(uri=self.model_data))
        download(self.model_data, target_dir, un_tar=True)
        return str(target_dir)

    def deploy(self, *_arguments: object, **_keywords: object) -> None:
        """Not supported.

        Raises:
            Unsupported: always.
        """
        raise Unsupported(_("Model.deploy is not supported."), fix=_(_DEPLOY))


class Model(ModelBase):
    """A model that is not registered, such as the one of `Estimator.create_model`."""


class RegisteredModel(ModelBase):
    """A version of a model in the registry. Default: its newest version.

    `uri` and `model_data` are the location of its files, and `input_uri` an input of jobs that reads this version.

    Raises:
        NoSuchModel: if the registry does not have it. A `RuntimeError` too.
        Unsupported: for the models of a provider.
    """

    def __init__(
        self,
        model_name: str,
        model_version: str | None = None,
        model_provider: str | None = None,
        session: Session | None = None,
    ) -> None:
        if model_provider:
            raise Unsupported(
                _("The models of the provider {name} are not listed here.").format(name=model_provider),
                fix=_("Pass the URI of its files as an input, as the PAI console shows it."),
            )
        version = next(iter(_versions(model_name, model_version, session)), None)
        if version is None:
            raise NoSuchModel(
                _("Model `{name}` has no version.").format(name=model_name),
                fix=offered(_("List its versions: %pai models versions {name}").format(name=model_name)),
            )
        self._read(version, session)

    @classmethod
    def _of(cls, version: Mapping[str, Any], session: Session | None) -> RegisteredModel:
        """Return a version of a reply."""
        model = cls.__new__(cls)
        model._read(version, session)
        return model

    def _read(self, version: Mapping[str, Any], session: Session | None) -> None:
        super().__init__(version["uri"], session=session)
        self.uri: str = version["uri"]
        self.model_id: str = version["model_id"]
        self.model_name: str = version["model"]
        self.model_version: str = version["version"]
        self.format_type: str | None = version["format"] or None
        self.approval_status: str = version["approval"]
        self.version_description: str = version["description"]
        self.version_labels: dict[str, str] = dict(version["labels"])
        self.metrics: dict[str, Any] = dict(version["metrics"])

    @property
    def input_uri(self) -> str:
        """The ``model://`` URI of this version, an input of jobs."""
        return ModelUri(self.model_name, self.model_version).uri

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RegisteredModel):
            return NotImplemented
        return (self.model_id, self.model_version) == (other.model_id, other.model_version)

    def __hash__(self) -> int:
        return hash((self.model_id, self.model_version))

    def __repr__(self) -> str:
        return f"RegisteredModel(model_name={self.model_name!r}, model_version={self.model_version!r})"

    @classmethod
    def list(cls, model_name: str | None = None, session: Session | None = None) -> Iterator[RegisteredModel]:
        """Yield the newest version of each model of the workspace whose name contains a text."""
        for model in _call("models", session)["models"]:
            if (model_name or "").lower() in model["name"].lower() and (found := _versions(model["id"], None, session)):
                yield cls._of(found[0], session)

    def list_versions(self, model_version: str | None = None) -> Iterator[RegisteredModel]:
        """Yield the versions of the model, newest first, or only one of them."""
        yield from (self._of(one, self.session) for one in _versions(self.model_id, model_version, self.session))

    def delete(self, delete_all_version: bool = False) -> None:
        """Delete this version from the registry, or the model with all of its versions. The files are kept."""
        version = {} if delete_all_version else {"version": self.model_version}
        _call("delete_model", self.session, model=self.model_id, **version)


def _call(verb: str, session: Session | None, **parameters: str) -> Any:
    target = target_of(session)
    registry = {"profile": target.profile} if target.profile else {"backend": BACKEND}
    return target.client.call(verb, **parameters, **registry)


def _versions(model: str, version: str | None, session: Session | None) -> list[dict[str, Any]]:
    """Return the versions of a model, newest first, or only one of them."""
    try:
        if version:
            return [_call("model_version", session, model=model, version=version)]
        return list(_call("model_versions", session, model=model)["versions"])
    except NotFound as error:
        raise NoSuchModel(error.message, fix=error.fix) from None


__getattr__ = absent_names(__name__, _ABSENT)
