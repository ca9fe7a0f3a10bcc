package kube

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Redis and PostgreSQL keep the batch gateway's queue and metadata for the length of a
// cell, in memory and on the node: what is in them ends with the namespace.
const (
	redisName      = "redis"
	redisPort      = 6379
	postgresqlName = "postgresql"
	postgresqlPort = 5432
	databaseName   = "batchgateway"
	keyPassword    = "postgresql-password"
	keyRedisURL    = "redis-url"
	keyPostgresURL = "postgresql-url"
	keyAPIKey      = "inference-api-key"
)

func (c Cell) redis() []runtime.Object {
	pod := corev1.PodSpec{
		Containers: []corev1.Container{{
			Name:            redisName,
			Image:           c.image(imageRedis).String(),
			ImagePullPolicy: corev1.PullIfNotPresent,
			// Neither snapshots nor a log: the queue lives as long as the cell.
			// Every pod of the namespace may ask it.
			Args:            []string{"redis-server", "--bind", "0.0.0.0", "--protected-mode", "no", "--save", "", "--appendonly", "no"},
			Ports:           []corev1.ContainerPort{containerPort("redis", redisPort)},
			ReadinessProbe:  tcpProbe(redisPort),
			Resources:       resources("20m", "64Mi", "2Gi"),
			SecurityContext: restricted(),
		}},
	}
	return []runtime.Object{c.deployment(redisName, 1, pod), service(redisName, servicePort("redis", redisPort))}
}

func (c Cell) postgresql() []runtime.Object {
	pod := corev1.PodSpec{
		Containers: []corev1.Container{{
			Name:            postgresqlName,
			Image:           c.image(imagePostgreSQL).String(),
			ImagePullPolicy: corev1.PullIfNotPresent,
			Env: []corev1.EnvVar{
				{Name: "POSTGRES_DB", Value: databaseName},
				{Name: "POSTGRES_PASSWORD", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
					LocalObjectReference: corev1.LocalObjectReference{Name: secretName}, Key: keyPassword,
				}}},
			},
			Ports:          []corev1.ContainerPort{containerPort("postgresql", postgresqlPort)},
			ReadinessProbe: tcpProbe(postgresqlPort),
			Resources:      resources("20m", "128Mi", "2Gi"),
		}},
	}
	return []runtime.Object{c.deployment(postgresqlName, 1, pod), service(postgresqlName, servicePort("postgresql", postgresqlPort))}
}

// passwordPlaceholder stands in what is rendered for the password that up makes, once,
// and never again while the Secret is there: the database keeps the first.
const passwordPlaceholder = "GENERATED-AT-UP"

func (c Cell) secret() *corev1.Secret { return c.secretWith(passwordPlaceholder) }

func (c Cell) secretWith(password string) *corev1.Secret {
	return &corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{Name: secretName},
		StringData: map[string]string{
			keyRedisURL:    fmt.Sprintf("redis://%s:%d/0", c.host(redisName), redisPort),
			keyPostgresURL: fmt.Sprintf("postgresql://postgres:%s@%s:%d/%s?sslmode=disable", password, c.host(postgresqlName), postgresqlPort, databaseName),
			keyPassword:    password,
			keyAPIKey:      "",
		},
	}
}
