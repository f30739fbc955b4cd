// Package foo contains the common part of the sample operators: a controller that migrates the data of Foos.
package foo

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/operator-status/operator-status/e2e/samples/foo/v1"
)

// Report is called with the sorted names of the Foos that are being migrated or are about to be: before, during and after a
// migration. If it fails, the migration does not begin. It is called again after the time that it returns, unless that is
// zero.
type Report func(ctx context.Context, migrating []string) (time.Duration, error)

// Reconciler migrates the data of Foos.
type Reconciler struct {
	Client client.Client

	// Report is nil if the operator need not report: its CustomResourceDefinition is annotated.
	Report Report

	reporting sync.Mutex // so that the last report is the newest
}

// Reconcile migrates one Foo. After its deletion it only reports.
func (r *Reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	foo := &v1.Foo{}
	if err := r.Client.Get(ctx, request.NamespacedName, foo); apierrors.IsNotFound(err) {
		again, err := r.report(ctx, foo)
		return reconcile.Result{RequeueAfter: again}, err
	} else if err != nil {
		return reconcile.Result{}, err
	}
	desired := foo.DeepCopy()
	var next, again time.Duration
	desired.Status, next = migrate(foo, time.Now())
	for _, step := range order(Migrates(desired),
		func() (err error) { again, err = r.report(ctx, desired); return err },
		func() error { return r.write(ctx, foo, desired) },
	) {
		if err := step(); err != nil {
			return reconcile.Result{}, err
		}
	}
	if next == 0 || again > 0 && again < next {
		next = again
	}
	return reconcile.Result{RequeueAfter: next}, nil
}

// order returns the steps in the order that never allows an update during a migration: its start is reported before the
// migration, its end afterwards.
func order(migrates bool, report, write func() error) []func() error {
	if migrates {
		return []func() error{report, write}
	}
	return []func() error{write, report}
}

func (r *Reconciler) write(ctx context.Context, actual, desired *v1.Foo) error {
	if equality.Semantic.DeepEqual(actual.Status, desired.Status) {
		return nil
	}
	if err := r.Client.Status().Update(ctx, desired); err != nil {
		return fmt.Errorf("updating the status of Foo %s: %w", client.ObjectKeyFromObject(actual), err)
	}
	ctrl.LoggerFrom(ctx).Info("Updated Foo", "conditions", desired.Status.Conditions)
	return nil
}

// report reports all Foos, with the given one in the state that it has now rather than that of the cache. The cache may
// be behind on the end of another migration, but not on its start: Migrates compares with the spec.
func (r *Reconciler) report(ctx context.Context, current *v1.Foo) (time.Duration, error) {
	if r.Report == nil {
		return 0, nil
	}
	r.reporting.Lock()
	defer r.reporting.Unlock()
	foos := &v1.FooList{}
	if err := r.Client.List(ctx, foos); err != nil {
		return 0, err
	}
	var migrating []string
	for _, foo := range foos.Items {
		if foo.UID == current.UID {
			foo = *current
		}
		if Migrates(&foo) {
			migrating = append(migrating, client.ObjectKeyFromObject(&foo).String())
		}
	}
	slices.Sort(migrating)
	return r.Report(ctx, migrating)
}

// SetupWithManager enqueues a Foo when it changes, and has the operator report when it starts.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	if err := mgr.Add(manager.RunnableFunc(r.reportFirst)); err != nil {
		return err
	}
	return ctrl.NewControllerManagedBy(mgr).For(&v1.Foo{}).Complete(r)
}

// reportFirst reports until that succeeds. An operator without any Foos reports too.
func (r *Reconciler) reportFirst(ctx context.Context) error {
	for {
		again, err := r.report(ctx, &v1.Foo{})
		switch {
		case err != nil:
			ctrl.LoggerFrom(ctx).Error(err, "Failed to report")
			again = time.Second
		case again == 0:
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(again):
		}
	}
}
