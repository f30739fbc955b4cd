package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operator-status/operator-status/api/platform/v1alpha1"
)

// The conditions of the PlatformOperators: of foo throughout, and of bar before and after it is recreated.
const (
	fooWell = "Synced=True/ObserveOnly Ready=True/Available Installed=True/Installed Progressing=False/AsDesired " +
		"Upgradeable=True/AllUpgradeable UpToDate=True/NewestRuns Important=False/NothingImportant"
	barMisspelt = "Synced=True/Synced Ready=False/Failed Installed=False/PackageNotFound Progressing=True/Installing " +
		"Upgradeable=True/NoProbe UpToDate=False/NewestNotKnown Important=False/NoProbe"
	barWell = "Synced=True/Synced Ready=True/Available Installed=True/Installed Progressing=False/AsDesired " +
		"Upgradeable=True/NoProbe UpToDate=True/NewestRuns Important=False/NoProbe"
)

// The status of the ClusterOperator before and after that.
const (
	platformWaits = "Available=False/PlatformOperatorsInstalling Progressing=True/PlatformOperatorsInstalling " +
		"Degraded=False/AsExpected, versions []"
	platformWell = "Available=True/PlatformOperatorsInstalled Progressing=False/PlatformOperatorsInstalled " +
		"Degraded=False/AsExpected, versions [operator]"
)

// declare creates the PlatformOperators before the ClusterOperator, which otherwise would be Available at once, and
// stay so, because it would have nothing to wait for.
func (s *stage) declare(ctx context.Context) error {
	if err := s.offer(ctx, in(fooPackage, first, second), in(barPackage, first)); err != nil {
		return err
	}
	if err := s.awaitCatalog(ctx); err != nil {
		return err
	}
	s.narrator.note("The catalog offers bar-operator, too.")
	operators, err := manifestsIn("platform.yaml")
	if err != nil {
		return err
	}
	if err := s.create(ctx, operators); err != nil {
		return err
	}
	if err := s.awaitPlatformOperator(ctx, "foo", fooWell); err != nil {
		return err
	}
	if err := s.awaitPlatformOperator(ctx, barKey.Name, barMisspelt, barPackage); err != nil {
		return err
	}
	return s.kubectl(ctx, "get", "platformoperators")
}

func (s *stage) rollUp(ctx context.Context) error {
	kind, object, err := s.clusterOperator(ctx)
	if err != nil {
		return err
	}
	if err := s.create(ctx, kind); err != nil {
		return err
	}
	if err := s.create(ctx, object); err != nil {
		return err
	}
	co, err := s.awaitClusterOperator(ctx, platformWaits, "bar (PackageNotFound)", barPackage)
	if err != nil {
		return err
	}
	if err := s.kubectl(ctx, "get", "clusteroperator", co.Name); err != nil {
		return err
	}
	available := co.Status.Conditions[:1] // the Available condition, as awaited above
	s.narrator.show("of its status", map[string]any{"conditions": available})
	return nil
}

func (s *stage) mendName(ctx context.Context) error {
	bar := &v1alpha1.PlatformOperator{}
	if err := s.admin.Get(ctx, barKey, bar); err != nil {
		return fmt.Errorf("getting PlatformOperator bar: %w", err)
	}
	if err := s.admin.Delete(ctx, bar.DeepCopy()); err != nil {
		return fmt.Errorf("deleting PlatformOperator bar: %w", err)
	}
	if err := s.awaitGone(ctx, bar.DeepCopy(), barKey); err != nil {
		return err
	}
	bar = &v1alpha1.PlatformOperator{ObjectMeta: metav1.ObjectMeta{Name: bar.Name}, Spec: bar.Spec}
	bar.Spec.Package.Name = barPackage
	began := time.Now()
	if err := s.admin.Create(ctx, bar); err != nil {
		return fmt.Errorf("creating PlatformOperator bar: %w", err)
	}
	if err := s.awaitPlatformOperator(ctx, bar.Name, barWell); err != nil {
		return err
	}
	co, err := s.awaitClusterOperator(ctx, platformWell)
	if err != nil {
		return err
	}
	s.narrator.note("The ClusterOperator reported it %s after that.", duration(time.Since(began)))
	if err := s.kubectl(ctx, "get", "clusteroperator", co.Name); err != nil {
		return err
	}
	return s.kubectl(ctx, "get", "platformoperators")
}

// awaitPlatformOperator waits until a PlatformOperator has the conditions in want and the words in Installed's message.
func (s *stage) awaitPlatformOperator(ctx context.Context, name, want string, words ...string) error {
	op := &v1alpha1.PlatformOperator{ObjectMeta: metav1.ObjectMeta{Name: name}}
	_, err := await(ctx, s, op, want+withWords(strings.Join(words, " "), words), func(op *v1alpha1.PlatformOperator) string {
		if op.Status.ObservedGeneration != op.Generation {
			return "a spec without a status of its own"
		}
		out := formatConditions(op.Status.Conditions)
		if c := meta.FindStatusCondition(op.Status.Conditions, v1alpha1.ConditionInstalled); c != nil {
			out += withWords(c.Message, words)
		}
		return out
	})
	return err
}

// awaitClusterOperator does the same for the ClusterOperator's conditions and versions, and the message of Available.
func (s *stage) awaitClusterOperator(ctx context.Context, want string, words ...string) (*configv1.ClusterOperator, error) {
	co := &configv1.ClusterOperator{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.ClusterOperatorName}}
	return await(ctx, s, co, want+withWords(strings.Join(words, " "), words), func(co *configv1.ClusterOperator) string {
		var conditions, versions []string
		message := ""
		for _, c := range co.Status.Conditions {
			conditions = append(conditions, fmt.Sprintf("%s=%s/%s", c.Type, c.Status, c.Reason))
			if c.Type == configv1.OperatorAvailable {
				message = withWords(c.Message, words)
			}
		}
		for _, v := range co.Status.Versions {
			if v.Version != "" {
				versions = append(versions, v.Name)
			}
		}
		return fmt.Sprintf("%s, versions %v%s", strings.Join(conditions, " "), versions, message)
	})
}

// withWords returns text that lists the words that a message contains.
func withWords(message string, words []string) string {
	found := slices.DeleteFunc(slices.Clone(words), func(word string) bool { return !strings.Contains(message, word) })
	return fmt.Sprintf(", with %q in its message", found)
}
