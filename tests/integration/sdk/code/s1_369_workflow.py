from jupyter_pai.sdk.pipeline import Pipeline

step1 = op.as_step(
    name="train-step-1",
    inputs={
        "job_config": JobConfig.create(
            worker_count=1, worker_instance_type="ecs.c6.large"
        ).to_dict(),
        "output_path": job_output_path_uri + "train-step-1/",
        "train_data": job_train_data_uri,
        "n_estimators": 500,
    },
)

step2 = op.as_condition_step(
    name="train-step-2",
    condition=step1.outputs["test-accuracy"] <= 0.90,
    inputs={
        "job_config": JobConfig.create(
            worker_count=1, worker_instance_type="ecs.c6.large"
        ).to_dict(),
        "output_path": job_output_path_uri + "train-step-2/",
        "train_data": job_train_data_uri,
        "n_estimators": 500,
    },
    depends=[step1],
)

step3 = op.as_condition_step(
    name="train-step-3",
    condition=step1.outputs["test-accuracy"] > 0.90,
    inputs={
        "job_config": JobConfig.create(
            worker_count=1, worker_instance_type="ecs.c6.large"
        ).to_dict(),
        "output_path": job_output_path_uri + "train-step-3/",
        "train_data": job_train_data_uri,
        "n_estimators": 1000,
    },
    depends=[step1],
)

p = Pipeline(
    steps=[step2, step3],
)

p.run("example-custom-job-workflow")
